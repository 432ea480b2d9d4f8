"""`cep`, in which a stage of a job fails with its settings in message and variables: the worst that it could do.

Usage: `python tests/kafka/leaky.py STAGE run ...`. Runs as `__main__`, so that what executors get of it is sent along.
"""

from __future__ import annotations

import sys
from typing import Any

import cep.cli
import connectors.kafka.sink as sink
import connectors.kafka.source as source
import runtime.spark.ends.kafka_ends as kafka_ends
import runtime.spark.ends.topics as topics
import runtime.spark.job.session as session
import runtime.spark.job.supervise as supervise
import runtime.spark.watch.follow as follow
from connectors.kafka.config import KafkaConfig

LAST: list[KafkaConfig] = []


def fail(config: KafkaConfig, stage: str) -> Any:
    resolved = config.client()
    raise RuntimeError(f"boom in {stage}: {resolved!r} {list(resolved.values())}")


class LeakySource(source.KafkaDataSource):
    """Fails where offsets are planned."""

    def streamReader(self, schema: Any) -> Any:  # noqa: N802, ARG002 - Spark's names
        class Reader(source.KafkaStreamReader):
            def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802, ARG002
                config = self.settings.config
                resolved = config.client()
                raise RuntimeError(f"boom in source: {resolved!r}")

        return Reader(source.Settings.of(self.options))


class LeakyReader(source.KafkaDataSource):
    """Fails where records are read."""

    def streamReader(self, schema: Any) -> Any:  # noqa: N802, ARG002 - Spark's names
        class Reader(source.KafkaStreamReader):
            def read(self, partition: Any) -> Any:  # noqa: ARG002
                config = self.settings.config
                resolved = config.client()
                raise RuntimeError(f"boom in executor: {resolved!r}")

        return Reader(source.Settings.of(self.options))


def main(stage: str) -> None:
    remember = KafkaConfig.of.__func__

    def of(cls: type[KafkaConfig], properties: Any) -> KafkaConfig:
        LAST.append(remember(cls, properties))
        return LAST[-1]

    KafkaConfig.of = classmethod(of)  # type: ignore[method-assign, assignment]
    if stage == "topics":
        topics.check_topics = lambda _, config, *__, **___: fail(config, stage)
    elif stage == "session":
        session.jvm_output = lambda _: fail(LAST[-1], stage)  # type: ignore[assignment]
    elif stage == "start":
        kafka_ends.read_kafka = lambda _, topic, __: fail(topic.config, stage)
    elif stage in ("source", "executor"):
        made = LeakySource if stage == "source" else LeakyReader
        source.register = lambda spark: spark.dataSource.register(made)
    elif stage == "publisher":
        sink.Publication.publish = lambda self, *_: fail(self.config, stage)  # type: ignore[method-assign]
    elif stage == "follow":
        follow.batch_of = lambda *_: fail(LAST[-1], stage)
    elif stage == "shutdown":
        supervise.OwnSessions.discard = lambda *_, **__: fail(LAST[-1], stage)  # type: ignore[method-assign]
    sys.argv = ["cep", *sys.argv[2:]]
    sys.exit(cep.cli.main())


if __name__ == "__main__":
    main(sys.argv[1])
