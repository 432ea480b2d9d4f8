"""`cep-topics.json`: which topics of which cluster a checkpoint has read, compared before the job starts.

Offsets mean nothing in a topic that was deleted and made anew, or in another cluster. The Python source keeps the ids
with its offsets and compares them with each batch (`connectors.kafka.offsets`). Spark's own connector has no room for
them, so they are kept beside, and `TopicGuard` compares them when a batch was read and before anything of it is
published: one request. Checkpoints of earlier versions have no such file; they get it at the next start.

Not guaranteed: anything with brokers before 2.8, whose topics have no ids.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from connectors.kafka.cluster import Identity, admin_client, identified, topic_ids
from connectors.kafka.config import KafkaConfig, logger
from connectors.kafka.offsets import DataLossError, changes
from runtime.spark.ends import manifest as manifests
from runtime.spark.ends.offset_log import OffsetLog
from runtime.spark.errors import JobError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

NAME = "cep-topics.json"
FORMAT = 1


def check_topics(checkpoint: str, config: KafkaConfig, topics: Sequence[str], *, fail: bool) -> None:
    """Compare the topics with those that the checkpoint knows, and write down what is there now.

    `DataLossError` where one is not what it was, unless the job goes on regardless (`fail` False).
    """
    if not topics:
        return
    admin = admin_client(config)
    cluster: str | None = None
    ids: dict[str, str] = {}
    for topic in topics:
        _, found = identified(config, topic, None, admin=admin)
        cluster = found.cluster
        ids |= found.topics
    before = _load(checkpoint)
    _compare(before, Identity(cluster, ids), fail=fail)
    _store(checkpoint, Identity(cluster, {**before.topics, **ids}))


def _compare(before: Identity, now: Identity, *, fail: bool) -> bool:
    """Whether something is not what it was; `DataLossError` where that must not be."""
    found = changes(before, now)
    if found and fail:
        raise DataLossError(found)
    for change in found:
        logger.warning(
            "data loss: %s; going on. --kafka-source python begins such a topic at its beginning, Spark's own "
            "connector at the old offsets",
            change,
        )
    return bool(found)


class TopicGuard:
    """Compares topics with those that the checkpoint knows, whenever it is called; see `check_topics`."""

    def __init__(self, checkpoint: str, config: KafkaConfig, topics: Sequence[str], *, fail: bool) -> None:
        self._checkpoint = checkpoint
        self._config = config
        self._topics = sorted(set(topics))
        self._fail = fail
        self._known: Identity | None = None
        self._admin: AdminClient | None = None

    def __call__(self) -> None:
        """`DataLossError` where a topic is not what it was, unless the job goes on regardless."""
        if self._known is None:
            self._known = _load(self._checkpoint)
        if not any(topic in self._known.topics for topic in self._topics):
            return  # brokers that give topics no ids
        if self._admin is None:
            self._admin = admin_client(self._config)
        now = Identity(None, topic_ids(self._config, self._topics, self._admin))
        if _compare(self._known, now, fail=self._fail):
            self._known = Identity(self._known.cluster, {**self._known.topics, **now.topics})
            _store(self._checkpoint, self._known)

    def __getstate__(self) -> dict[str, object]:
        """A copy, e.g. on a Spark Connect server, asks by itself."""
        return {**self.__dict__, "_admin": None}


def has_ids(checkpoint: str) -> bool:
    """Whether the newest offsets of a checkpoint name ids, as those of the Python source do."""
    return any('"cluster"' in line for line in OffsetLog(checkpoint).last())


def _load(checkpoint: str) -> Identity:
    text = manifests.read(checkpoint, NAME)
    if text is None:
        return Identity()
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise JobError(f"{checkpoint}/{NAME}: written by another version (format {content['format']})")
        return Identity(content["cluster"], {str(name): str(id_) for name, id_ in content["topics"].items()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobError(f"{checkpoint}/{NAME}: expected the ids of topics, found something else ({error})") from error


def _store(checkpoint: str, identity: Identity) -> None:
    content = {"format": FORMAT, "cluster": identity.cluster, "topics": dict(sorted(identity.topics.items()))}
    manifests.write(checkpoint, NAME, json.dumps(content, indent=2) + "\n")
