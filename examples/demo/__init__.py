"""The main job, end to end: Kafka in, Spark, alerts out. `make demo` runs it."""
