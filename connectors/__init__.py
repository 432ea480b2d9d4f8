"""Both ends of a job: event files, Kafka, and how matches are written."""
