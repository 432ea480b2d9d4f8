"""CloudEvents headers of a match, in the Kafka binding's binary mode: attributes as headers, the match as value.

`ce_id` is the match's id, the same in every retry: consumers that cannot read transactions can drop repeats by it.
"""

from __future__ import annotations

import json

TYPE_PREFIX = "cep.match."
CONTENT_TYPE = b"application/json"


def headers(id_: str, pattern: str, at: str | None, source: str) -> tuple[tuple[str, bytes | None], ...]:
    """The headers of a match; `at` is its last event's time in RFC 3339, None where the pattern has no time.

    >>> dict(headers("0a", "CardTesting", None, "/cep/fraud"))["ce_type"]
    b'cep.match.CardTesting'
    """
    found = [
        ("ce_specversion", b"1.0"),
        ("ce_id", id_.encode()),
        ("ce_type", (TYPE_PREFIX + pattern).encode()),
        ("ce_source", source.encode()),
        ("content-type", CONTENT_TYPE),
    ]
    if at is not None:
        found.insert(4, ("ce_time", at.encode()))
    return tuple(found)


def headers_of(match: bytes, source: str) -> tuple[tuple[str, bytes | None], ...]:
    """The headers of a match given as JSON."""
    fields = json.loads(match)
    return headers(fields["id"], fields["pattern"], fields["end"], source)
