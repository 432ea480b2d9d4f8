"""The key of ids: whoever does not have it cannot tell the id of any match, let alone choose one.

The command line is told where it is (`--id-key env:NAME`), never what it is: arguments are in process lists.
"""

from __future__ import annotations

import hashlib
import os

SHORTEST_KEY = 16


class IdKeyError(ValueError):
    """A key that cannot be used; the text says why, and never what it is."""


class IdKey:
    """A secret that ids are made with. It is shown by nothing: neither in a log nor in a traceback.

    >>> IdKey(b"0123456789abcdef")
    IdKey(0a2618363d92e55e)
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SHORTEST_KEY:
            raise IdKeyError(
                f"the id key has {len(secret)} bytes, expected at least {SHORTEST_KEY}: e.g. `openssl rand -hex 32`"
            )
        # BLAKE2b takes up to 64 bytes.
        self._secret = secret if len(secret) <= 64 else hashlib.blake2b(secret).digest()

    @classmethod
    def named(cls, where: str) -> IdKey:
        """The key that `env:NAME` names."""
        kind, _, name = where.partition(":")
        if kind != "env" or not name:
            raise IdKeyError("expected env:NAME, the environment variable that holds the key")
        if not (text := os.environ.get(name)):
            raise IdKeyError(f"the environment variable {name} is not set")
        return cls(os.fsencode(text))

    @property
    def secret(self) -> bytes:
        """The key itself, for other processes of the same job and user."""
        return self._secret

    @property
    def digest(self) -> str:
        """What tells keys apart and gives none away."""
        return hashlib.blake2b(b"cep id key", digest_size=8, key=self._secret).hexdigest()

    def __repr__(self) -> str:
        return f"IdKey({self.digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdKey) and self._secret == other._secret

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[type[IdKey], tuple[bytes]]:
        return IdKey, (self._secret,)


def derived(key: IdKey | None, purpose: bytes) -> bytes:
    """16 bytes for a purpose, that come from a key and tell nothing of it; without one, those that everybody knows."""
    return hashlib.blake2b(digest_size=16, key=b"" if key is None else key.secret, person=purpose).digest()
