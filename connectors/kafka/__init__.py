"""Kafka ends of a job: a Spark source, an exactly-once sink, dead letters; none of them needs the other.

Nothing here imports confluent_kafka or pyspark until it is used, so that a plan can be made where neither is installed.
"""
