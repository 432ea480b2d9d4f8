"""librdkafka's built-in cluster: a Kafka that lives in this process, for trying things out and for tests.

Found by experiment (librdkafka 2.16). It has: produce and fetch with keys, headers and timestamps, compression,
idempotent and transactional producers, earliest and latest offsets, consumer groups with committed offsets (joining
takes about three seconds), topics made when first used. It does not have: isolation (`read_committed` sees aborted
records), fencing, offsets by time (answered with "none", which reads as the end), creating, enlarging or deleting
topics by request, deleting records, anything that outlives the process. A
partition keeps its newest 5 MB or so, as sent (compressed), and drops what is older: read while you write, or use more
partitions.

Topics with a chosen number of partitions are made through librdkafka's own test interface, which its shared library
exports. A build of confluent_kafka that links it statically has no such library: starting says so.
"""

from __future__ import annotations

import ctypes
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from connectors.kafka.config import KafkaFailureError

_PRODUCER = 0


class BuiltInCluster:
    """A running cluster; `bootstrap` is its address on the loopback interface. Stops with `close` or the process.

    With `port`, a forwarder listens there, for the cluster itself takes free ports: clients bootstrap through it and
    learn the rest.
    """

    def __init__(self, *, brokers: int = 1, topics: Mapping[str, int] | None = None, port: int | None = None) -> None:
        self._library = _library()
        error = ctypes.create_string_buffer(512)
        settings = self._library.rd_kafka_conf_new()
        for setting, value in {b"bootstrap.servers": b"127.0.0.1:1", b"log_level": b"0"}.items():
            self._library.rd_kafka_conf_set(settings, setting, value, error, len(error))
        self._client = self._library.rd_kafka_new(_PRODUCER, settings, error, len(error))
        if not self._client:
            raise KafkaFailureError(f"cannot start the built-in cluster: {error.value.decode()}")
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._client, brokers)
        if not self._cluster:
            raise KafkaFailureError("cannot start the built-in cluster: no loopback port is free")
        self.brokers: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        for name, partitions in (topics or {}).items():
            self.create_topic(name, partitions)
        self._forwarder = None if port is None else _Forwarder(port, self.brokers.split(",")[0])
        self.bootstrap = self.brokers if self._forwarder is None else f"127.0.0.1:{self._forwarder.port}"

    def create_topic(self, name: str, partitions: int = 4) -> None:
        """Make a topic; an error where it is there."""
        code = self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1)
        if code:
            raise KafkaFailureError(f"cannot create topic {name} with {partitions} partitions (error {code})")

    def close(self) -> None:
        """Stop the cluster; what it held is gone."""
        if self._forwarder is not None:
            self._forwarder.close()
        if self._cluster:
            self._library.rd_kafka_mock_cluster_destroy(self._cluster)
            self._library.rd_kafka_destroy(self._client)
            self._cluster = self._client = None

    def __enter__(self) -> BuiltInCluster:  # noqa: PYI034 - Self is Python 3.11's
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _library() -> Any:
    import confluent_kafka

    package = Path(confluent_kafka.__file__).parent
    places = [package.parent / "confluent_kafka.libs", package / ".dylibs", package]
    found = [path for place in places for path in sorted(place.glob("librdkafka*"))]
    for path in [*map(str, found), "librdkafka.so.1", "librdkafka.dylib"]:
        with suppress(OSError):
            library = ctypes.CDLL(path)
            if hasattr(library, "rd_kafka_mock_topic_create"):
                return _typed(library)
    raise KafkaFailureError(
        "librdkafka's shared library was not found beside confluent_kafka: install the wheel of confluent-kafka"
    )


def _typed(library: Any) -> Any:
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("rd_kafka_conf_new", pointer, []),
        ("rd_kafka_conf_set", number, [pointer, text, text, text, ctypes.c_size_t]),
        ("rd_kafka_new", pointer, [number, pointer, text, ctypes.c_size_t]),
        ("rd_kafka_destroy", None, [pointer]),
        ("rd_kafka_mock_cluster_new", pointer, [pointer, number]),
        ("rd_kafka_mock_cluster_destroy", None, [pointer]),
        ("rd_kafka_mock_cluster_bootstraps", text, [pointer]),
        ("rd_kafka_mock_topic_create", number, [pointer, text, number, number]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class _Forwarder:
    """Passes connections to a loopback port on to another one."""

    def __init__(self, port: int, target: str) -> None:
        host, _, number = target.rpartition(":")
        self._target = (host, int(number))
        try:
            self._listener = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise KafkaFailureError(f"cannot listen on 127.0.0.1:{port}: {error.strerror}") from None
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="forwarder", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
            except OSError:
                return
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=_copy, args=(source, sink), name="forward", daemon=True).start()

    def close(self) -> None:
        # A thread that waits in accept keeps the port open until it is woken.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
