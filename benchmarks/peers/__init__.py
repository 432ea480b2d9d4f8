"""Our engine against the engines people use today: `python -m benchmarks.peers`."""
