"""A cryptographic hash of many short messages at once: each step is a few calls of AES for all of them.

`hashlib` is called once a message, which costs half a microsecond whatever the message; AES of a whole buffer costs one
and a half nanoseconds a block. So the hash is made of AES under six keys that are fixed, from the inside out:

* E(x) ^ x, and E(x) ^ F(x) for two keys, are *functions* that nobody can compute backwards, though he has the keys. The
  second is as good as a random one (Bhattacharya and Nandi, Eurocrypt 2018);
* a *step* takes a chain value x and a block y to f1(x) ^ f3(f1(x) ^ f2(y)), f1 and f2 of the first kind, f3 of the
  second (Shrimpton and Stam, ICALP 2008);
* a message is chained block by block (Merkle and Damgard), and the last value goes through f4, of the second kind: a
  random function of a chain like this is as good as a random oracle (Dodis, Ristenpart and Shrimpton, Eurocrypt 2009).

Guaranteed, as far as AES with a known key is a random permutation: two messages of one hash cost 2**60 calls of AES
(2**64 less what the proof loses), a message with the hash of a given one 2**85, and for less than 2**60 nobody finds
anything in these hashes that random numbers do not have. With a secret key nobody else can compute any.

Not guaranteed: anything about a message that is the beginning of another. Whoever makes messages sees that none is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from runtime.state.id_key import IdKey, derived

BLOCK = 16
"""Bytes that a step takes in, and that a hash has."""
_KEYS = 6


class AesHash:
    """Chains of as many messages as there are. Values and blocks are flat arrays of bytes, 16 a message.

    >>> chains = np.zeros(3 * BLOCK, dtype=np.uint8)
    >>> blocks = np.repeat(np.array([1, 2, 1], dtype=np.uint8), BLOCK)
    >>> aes = AesHash.of(None)
    >>> first, second, third = aes.finish(aes.step(chains, blocks)).reshape(3, BLOCK).tolist()
    >>> first == third, first == second
    (True, False)
    """

    __slots__ = ("_permutations",)

    def __init__(self, key: IdKey | None) -> None:
        self._permutations: list[Callable[[Any, Any], int]] = [
            Cipher(
                algorithms.AES(derived(key, b"cep row hash %d" % number)),
                modes.ECB(),  # noqa: S305  a permutation of blocks is what is wanted: nothing is kept secret by it
            )
            .encryptor()
            .update_into
            for number in range(_KEYS)
        ]

    @staticmethod
    def of(key: IdKey | None) -> AesHash:
        """The hash under a key, or under those that everybody knows; this thread's own."""
        if (found := _THREAD.hashes.get(key)) is None:
            found = _THREAD.hashes[key] = AesHash(key)
        return found

    def step(self, chains: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """The next value of each chain. A new array."""
        outer = self._permuted(0, chains)
        outer ^= chains
        inner = self._permuted(1, blocks)
        inner ^= blocks
        inner ^= outer
        result = self._function(2, inner)
        result ^= outer
        return result

    def finish(self, chains: np.ndarray) -> np.ndarray:
        """The hashes of the messages whose chains these are. A new array."""
        return self._function(4, chains)

    def _function(self, number: int, data: np.ndarray) -> np.ndarray:
        result = self._permuted(number, data)
        result ^= self._permuted(number + 1, data)
        return result

    def _permuted(self, number: int, data: np.ndarray) -> np.ndarray:
        room = np.empty(len(data) + BLOCK, dtype=np.uint8)  # a block more than is needed: `update_into` asks for it
        self._permutations[number](data, room)
        return room[:-BLOCK]


class _Thread(threading.local):
    """A cipher is an object that is written to while it works: each thread has its own."""

    def __init__(self) -> None:
        self.hashes: dict[IdKey | None, AesHash] = {}


_THREAD = _Thread()
