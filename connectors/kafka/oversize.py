"""Matches, and late events, that no topic takes: they go to `<topic>.dlq`, as far as they fit, in the transaction.

A record is too large if the client would not send it (`message.max.bytes`) or the topic would not take it
(`max.message.bytes`, which counts the compressed batch: so a record over it is compressed here to see). The letter
keeps key and headers; its value is the match without its largest fields, which `dropped` names, so that id, pattern and
times stay; a late event goes without its largest attributes likewise. A value that is neither is cut. Headers say why,
as those of other dead letters do: `__connect.errors.topic`, `.exception.message`, and `.size`, the bytes it had.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from connectors.kafka.record import Record

SUFFIX = ".dlq"
PREFIX = "__connect.errors."
OVERHEAD = 512
"""Bytes that a record takes beside its own: the batch's header, and room for what is estimated here."""
_LETTER = 256 << 10
"""A letter's value is at most so long, or half of what its topic takes."""
_LONGEST_KEY = 1 << 10
_CODECS = {"lz4": "lz4", "gzip": "gzip", "zstd": "zstd", "snappy": "snappy"}


@dataclass(frozen=True, slots=True)
class Room:
    """How large a record may be: `client` as it is, `topic` compressed by `codec` (None: unknown)."""

    client: int = 1_000_000
    topic: int | None = None
    codec: str = "lz4"

    def takes(self, record: Record, size: int | None = None) -> bool:
        """Whether a record can be sent; `size` is its own, where that is known already."""
        size = (record.size if size is None else size) + OVERHEAD
        if size > self.client:
            return False
        return self.topic is None or size <= self.topic or self._compressed(record) + OVERHEAD <= self.topic

    def _compressed(self, record: Record) -> int:
        codec = _CODECS.get(self.codec)
        data = b"".join([record.key or b"", record.value or b"", *(value or b"" for _, value in record.headers)])
        if codec is None or not pa.Codec.is_available(codec):
            return len(data)
        return len(pa.compress(data, codec=codec, asbytes=True))

    @property
    def letter(self) -> int:
        """How long the value of a letter may be: a topic of letters is made with the defaults, or by hand."""
        return max(0, min(_LETTER, self.client // 2, (self.topic or _LETTER) // 2))


def letter_of(record: Record, topic: str, room: Room) -> Record:
    """The dead letter of a record that is too large for `topic`.

    >>> match = Record(b"k", b'{"id": "0a", "fields": {"short": 1, "long": "' + b"x" * 2000 + b'"}}')
    >>> letter_of(match, "alerts", Room(client=2000)).value
    b'{"id": "0a", "fields": {"short": 1}, "dropped": ["long"]}'
    """
    limit = f"{room.client:,} bytes (message.max.bytes)"
    if record.size + OVERHEAD <= room.client:
        limit = f"{room.topic:,} bytes compressed (max.message.bytes of {topic})"
    reason = f"a record of {record.size:,} bytes is more than {limit}: raise that, or return fewer fields"
    key = record.key
    why = {"topic": topic, "exception.message": reason, "size": str(record.size), "stage": "PRODUCER"}
    if key is not None and len(key) > _LONGEST_KEY:
        key, why["key"] = key[:_LONGEST_KEY], f"cut from {len(key):,} bytes"
    kept = tuple((name, value) for name, value in record.headers if len(value or b"") <= _LONGEST_KEY)
    added = tuple((PREFIX + name, text.encode()) for name, text in why.items())
    value = _shortened(record.value or b"", room.letter)
    return Record(key, value, (*kept, *added), topic + SUFFIX, record.timestamp)


def _shortened(value: bytes, most: int) -> bytes:
    try:
        match: Any = json.loads(value)
    except ValueError:
        return value[:most]
    fields = (match.get("fields") or match.get("event")) if isinstance(match, dict) else None
    if not isinstance(fields, dict):
        return value[:most]
    dropped: list[str] = []
    by_size = sorted(fields, key=lambda name: -len(json.dumps(fields[name])))
    text = value
    for name in by_size:
        if len(text) <= most:
            break
        del fields[name]
        dropped.append(name)
        text = json.dumps({**match, "dropped": dropped}, ensure_ascii=False).encode()
    return text if len(text) <= most else text[:most]
