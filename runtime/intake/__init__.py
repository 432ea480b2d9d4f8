"""What comes in: batches that fit their streams, the events of them that can bind a variable, the watermark."""
