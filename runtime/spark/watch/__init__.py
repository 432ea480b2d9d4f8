"""What a running job tells: batches, metrics, jumps of the watermark, data that do not fit."""
