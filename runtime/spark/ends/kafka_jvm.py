"""librdkafka's settings as Spark's own Kafka connector, which is a Java client, wants them.

A setting is passed on (the Java consumer knows it by the same name), translated, left out (it concerns the producer,
which is ours in either case), or refused with the reason: the Java client would ignore what it does not know, and a
security setting that is ignored is worse than an error. References (`env:`, `file:`) are resolved here, since the Java
client knows none; Spark redacts passwords and JAAS lines in what it logs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from connectors.kafka.config import PREFIX, KafkaConfig
from runtime.spark.errors import JobError

_SAME = frozenset(
    """
    bootstrap.servers client.id client.rack group.id client.dns.lookup isolation.level check.crcs
    fetch.min.bytes fetch.max.bytes fetch.max.wait.ms max.partition.fetch.bytes max.poll.records max.poll.interval.ms
    receive.buffer.bytes send.buffer.bytes reconnect.backoff.ms reconnect.backoff.max.ms retry.backoff.ms
    retry.backoff.max.ms request.timeout.ms default.api.timeout.ms connections.max.idle.ms metadata.max.age.ms
    session.timeout.ms heartbeat.interval.ms allow.auto.create.topics
    socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms
    sasl.mechanism sasl.jaas.config sasl.kerberos.service.name sasl.login.callback.handler.class
    sasl.client.callback.handler.class sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.scope.claim.name
    ssl.cipher.suites ssl.endpoint.identification.algorithm ssl.key.password ssl.protocol ssl.enabled.protocols
    ssl.provider ssl.keystore.location ssl.keystore.password ssl.keystore.type
    ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """.split()  # noqa: SIM905 - a list of fifty names, one a line, is no easier to read
)
_RENAMED = {
    "metadata.broker.list": "bootstrap.servers",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "socket.timeout.ms": "request.timeout.ms",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    "sasl.mechanisms": "sasl.mechanism",
}
_OF_THE_PRODUCER = re.compile(
    r"acks|request\.required\.acks|batch\..+|linger\.ms|queue\.buffering\..+|compression\..+|enable\.idempotence"
    r"|enable\.gapless\.guarantee|transaction\..+|transactional\.id|message\..+|max\.in\.flight.*|retries|partitioner"
    r"|delivery\.timeout\.ms|sticky\.partitioning\..+|log_level|statistics\.interval\.ms"
)
_TOGETHER = frozenset(("sasl.username", "sasl.password", "security.protocol", "ssl.ca.location"))
_INSTEAD = {
    "ssl.certificate.location": "ssl.keystore.location and ssl.keystore.type=PEM (a file with key and certificates)",
    "ssl.key.location": "ssl.keystore.location and ssl.keystore.type=PEM (a file with key and certificates)",
    "ssl.certificate.pem": "ssl.keystore.location and ssl.keystore.type=PEM (a file with key and certificates)",
    "ssl.key.pem": "ssl.keystore.location and ssl.keystore.type=PEM (a file with key and certificates)",
    "ssl.ca.pem": "ssl.ca.location",
    "enable.ssl.certificate.verification": "ssl.truststore.location",
}
_LOGIN = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def jvm_options(config: KafkaConfig) -> dict[str, str]:
    """Options for `spark.readStream.format("kafka")`. `JobError` names the setting that has no counterpart.

    >>> jvm_options(KafkaConfig.of({"bootstrap.servers": "b:1", "fetch.wait.max.ms": "50", "linger.ms": "5"}))
    {'kafka.bootstrap.servers': 'b:1', 'kafka.fetch.max.wait.ms': '50'}
    """
    given = config.client()
    names = [name for name, _ in config.properties]
    chosen: dict[str, str] = {}
    for name in names:
        if name in _SAME or name in _RENAMED:
            chosen[_RENAMED.get(name, name)] = given[name]
        elif name not in _TOGETHER and not _OF_THE_PRODUCER.fullmatch(name):
            advice = f"use {_INSTEAD[name]}, or" if name in _INSTEAD else "leave it out, or use"
            raise JobError(
                f"--kafka-option {name}: Spark's Kafka connector has no such setting: {advice} --kafka-source python"
            )
    if "security.protocol" in names:
        chosen["security.protocol"] = given["security.protocol"].upper()
    if "ssl.ca.location" in names:
        if any(name.startswith("ssl.truststore.") for name in names):
            raise JobError("--kafka-option ssl.ca.location: expected it or ssl.truststore.*, found both")
        chosen |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": given["ssl.ca.location"]}
    if "sasl.username" in names or "sasl.password" in names:
        chosen["sasl.jaas.config"] = _jaas(given, chosen)
    return {PREFIX + name: value for name, value in sorted(chosen.items())}


def _jaas(given: Mapping[str, str], chosen: Mapping[str, str]) -> str:
    if "sasl.jaas.config" in chosen:
        raise JobError("--kafka-option sasl.jaas.config: expected it or sasl.username and sasl.password, found both")
    for name in ("sasl.username", "sasl.password"):
        if name not in given:
            raise JobError(f"--kafka-option {name} is missing: expected sasl.username and sasl.password together")
    mechanism = chosen.get("sasl.mechanism")
    if mechanism not in _LOGIN:
        raise JobError(
            f"--kafka-option sasl.mechanism: expected one of {', '.join(_LOGIN)} with a user name and a password, "
            f"found {mechanism or 'none'}"
        )
    user, password = (_quoted(given[name]) for name in ("sasl.username", "sasl.password"))
    return f"{_LOGIN[mechanism]} required username={user} password={password};"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
