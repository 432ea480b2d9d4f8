"""A hash table for whole batches: numbers keys of 64-bit words, with a few numpy calls however many keys there are.

Open addressing. A key's hash says where to look and how far to step where another key stands. Each round takes all keys
that are still looking: those on a free slot write their names to it, and whoever can be read there afterwards has it;
those that find themselves are done; the others step on. At most a quarter of the slots is used, so two rounds serve
almost all, and the last few are looked up one by one.

Costs O(1) a key, amortised over growth; a byte a key beside its words, and 16 to 32 for its slots. Numbers are given
out from 0, are not reused and stay as they are. Keys are told apart by all their bits; which of the new keys of a batch
gets which number depends on the process (`runtime.arrays.hashing`), so nobody may show it.
"""

from __future__ import annotations

import numpy as np

from runtime.arrays import hashing
from runtime.arrays.columns import Growable

_LEAST = 64
_FEW = 24
_BLOCK = 1 << 15
_FREE = 0
_REMOVED = -1

Keys = tuple[np.ndarray, ...]
"""The words of keys, one array of uint64 for each."""


class HashTable:
    """See the module's text.

    >>> table = HashTable(2)
    >>> words = np.array([7, 9, 7], dtype=np.uint64)
    >>> numbers, first = table.add((words, words))
    >>> len(table), bool(numbers[0] == numbers[2]), sorted(first.tolist())
    (2, True, [0, 1])
    >>> table.find((words, words + np.uint64(1))).tolist()
    [-1, -1, -1]
    """

    __slots__ = ("_gone", "_removed", "_slots", "_words")

    def __init__(self, words: int = 1) -> None:
        self._words = tuple(Growable(np.uint64) for _ in range(words))
        self._gone = Growable(np.bool_)
        self._removed = 0
        self._slots = np.zeros(_LEAST, dtype=np.int32)
        """The number of the key that stands here, plus one."""

    def __len__(self) -> int:
        return self.numbered - self._removed

    @property
    def numbered(self) -> int:
        """How many numbers have been given out."""
        return self._words[0].size

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(word.nbytes for word in self._words) + self._gone.nbytes + int(self._slots.nbytes)

    def add(self, keys: Keys) -> tuple[np.ndarray, np.ndarray]:
        """The number of each key, new ones numbered; and where in the batch each new key comes first, by number."""
        size, known = len(keys[0]), self.numbered
        self._make_room(known + size)
        numbers = np.empty(size, dtype=np.int64)
        pending, hashes = np.arange(size), hashing.words(keys)
        words, at = keys, self._start(hashes)
        while len(pending) > _FEW:
            free = (self._slots[at] == _FREE).nonzero()[0]
            if len(free):
                won = self._claim(at, free)
                self._append(tuple(word[won] for word in words))
            found = self._slots[at]
            same = self._is(found, words)
            numbers[pending[same]] = found[same] - 1
            rest = (~same).nonzero()[0]
            pending, hashes, words = pending[rest], hashes[rest], tuple(word[rest] for word in words)
            at = self._step(at[rest], hashes)
        self._add_one_by_one(numbers, pending, words, hashes, at)
        self._gone.extend(np.zeros(self.numbered - known, dtype=np.bool_))
        return numbers, self._first(numbers, known)

    def _append(self, words: Keys) -> None:
        for stored, word in zip(self._words, words, strict=True):
            stored.extend(word)

    def _first(self, numbers: np.ndarray, known: int) -> np.ndarray:
        """Where each number from `known` on comes first."""
        first = np.empty(self.numbered - known, dtype=np.int64)
        if len(first) == len(numbers):
            first[numbers - known] = np.arange(len(numbers))
        elif len(first):
            new = np.flatnonzero(numbers >= known)[::-1]
            first[numbers[new] - known] = new  # of several, the one that is written last stays
        return first

    def _add_one_by_one(
        self, numbers: np.ndarray, pending: np.ndarray, words: Keys, hashes: np.ndarray, at: np.ndarray
    ) -> None:
        """The rest of `add`, for so few keys that a round of numpy calls costs more than they do."""
        slots, mask = self._slots, len(self._slots) - 1
        for number, place in enumerate(pending.tolist()):
            key, slot = [word[number] for word in words], int(at[number])
            step = int(hashes[number]) >> 32 & mask | 1
            while (found := int(slots[slot])) != _FREE:
                if found > 0 and all(w.view()[found - 1] == k for w, k in zip(self._words, key, strict=True)):
                    break
                slot = (slot + step) & mask
            else:
                self._append(tuple(word[number : number + 1] for word in words))
                slots[slot] = found = self.numbered
            numbers[place] = found - 1

    def find(self, keys: Keys) -> np.ndarray:
        """The number of each key; -1 for those that are not here."""
        numbers = np.full(len(keys[0]), -1, dtype=np.int64)
        for pending, at in self._places(keys):
            numbers[pending] = self._slots[at] - 1
        return numbers

    def discard(self, numbers: np.ndarray) -> None:
        """Take keys out. Added again, they get other numbers."""
        for _, at in self._places(self.keys(numbers)):
            self._slots[at] = _REMOVED
        self._gone.view()[numbers] = True
        self._removed += len(numbers)

    def keys(self, numbers: np.ndarray) -> Keys:
        """The keys of some numbers."""
        return tuple(word.at(numbers) for word in self._words)

    def live(self) -> np.ndarray:
        """The numbers of the keys that are here."""
        return np.flatnonzero(~self._gone.view())

    @classmethod
    def of(cls, keys: Keys) -> HashTable:
        """A table of keys, all different, numbered in the order given. O(keys)."""
        table = cls(len(keys))
        table._append(keys)
        table._gone.extend(np.zeros(len(keys[0]), dtype=np.bool_))
        if not table._make_room(table.numbered):
            table._enter(table.live())
        return table

    # --- slots -----------------------------------------------------------------------------------------------------

    def _start(self, hashes: np.ndarray) -> np.ndarray:
        start: np.ndarray = (hashes & np.uint64(len(self._slots) - 1)).astype(np.int64)
        return start

    def _step(self, at: np.ndarray, hashes: np.ndarray) -> np.ndarray:
        """The next slot to look at. The step is odd and the number of slots a power of two: every slot is visited."""
        mask = len(self._slots) - 1
        following: np.ndarray = (at + ((hashes >> np.uint64(32) & np.uint64(mask)).astype(np.int64) | 1)) & mask
        return following

    def _is(self, found: np.ndarray, words: Keys) -> np.ndarray:
        """Which slots hold the key that is looked for."""
        if not self.numbered:
            return np.zeros(len(found), dtype=np.bool_)
        numbers = np.maximum(found, 1) - 1  # free and removed slots are read as if they held number 0
        same = found > 0
        for stored, word in zip(self._words, words, strict=True):
            same &= stored.at(numbers) == word
        return same

    def _claim(self, at: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Give each free slot to one of those that stand on it; who they are."""
        wanted = at[free]
        names = np.arange(1, len(free) + 1, dtype=self._slots.dtype)
        self._slots[wanted] = names
        won: np.ndarray = free[self._slots[wanted] == names]
        self._slots[at[won]] = np.arange(self.numbered + 1, self.numbered + 1 + len(won))
        return won

    def _places(self, keys: Keys) -> list[tuple[np.ndarray, np.ndarray]]:
        """Where keys stand: positions in the batch and their slots, a pair for each round."""
        places = []
        pending, words, hashes = np.arange(len(keys[0])), keys, hashing.words(keys)
        at = self._start(hashes)
        while len(pending):
            found = self._slots[at]
            same = self._is(found, words)
            places.append((pending[same], at[same]))
            rest = np.flatnonzero(~same & (found != _FREE))
            pending, hashes, words = pending[rest], hashes[rest], tuple(word[rest] for word in words)
            at = self._step(at[rest], hashes)
        return places

    def _make_room(self, count: int) -> bool:
        """Have at least four times as many slots as numbers; whether all keys had to move."""
        if 4 * count <= len(self._slots):
            return False
        size = len(self._slots)
        while size < 4 * count:
            size *= 2
        self._slots = np.zeros(size, dtype=np.int32 if size < 2**31 else np.int64)
        self._enter(self.live())
        return True

    def _enter(self, numbers: np.ndarray) -> None:
        """Put numbered keys, all different, into slots; some at a time, for the processor's cache."""
        for first in range(0, len(numbers), _BLOCK):
            self._enter_block(numbers[first : first + _BLOCK])

    def _enter_block(self, numbers: np.ndarray) -> None:
        if not len(numbers):
            return
        hashes = hashing.words(self.keys(numbers))
        at = self._start(hashes)
        while len(numbers):
            free = np.flatnonzero(self._slots[at] == _FREE)
            self._slots[at[free]] = numbers[free] + 1
            rest = np.flatnonzero(self._slots[at] != numbers + 1)
            numbers, hashes = numbers[rest], hashes[rest]
            at = self._step(at[rest], hashes)
