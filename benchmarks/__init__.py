"""Benchmarks: `python -m benchmarks.<name>`. Each prints one table and keeps its results as JSON."""
