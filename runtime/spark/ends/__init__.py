"""Where a job's events come from and its matches go: files, directories, Kafka; what a checkpoint says of them."""
