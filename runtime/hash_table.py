"""A hash table for whole batches: numbers 128-bit keys, with a handful of numpy calls however many keys there are.

Open addressing. A key is a fingerprint already, so its first lane says where to look; its second says how far to step
where another key stands. Each round takes all keys that are still looking: those on a free slot write their names to
it, and whoever can be read there afterwards has it; those that find themselves are done; the others step on. At most a
quarter of the slots is used, so two rounds serve almost all, and the last few are looked up one by one.

Costs O(1) a key, amortised over growth; 17 bytes a key and 16 to 32 for its slots. Numbers are given out from 0, are
not reused and stay as they are. Keys are told apart by all 128 bits.
"""

from __future__ import annotations

import numpy as np

from runtime.columns import Growable
from runtime.hashing import Lanes

_LEAST = 64
_FEW = 24
_BLOCK = 1 << 15
_FREE = 0
_REMOVED = -1


class HashTable:
    """See the module's text.

    >>> table = HashTable()
    >>> lanes = np.array([7, 9, 7], dtype=np.uint64)
    >>> numbers, fresh = table.add((lanes, lanes))
    >>> len(table), bool(numbers[0] == numbers[2]), table.find((lanes, lanes + np.uint64(1))).tolist()
    (2, True, [-1, -1, -1])
    """

    __slots__ = ("_first", "_gone", "_removed", "_second", "_slots")

    def __init__(self) -> None:
        self._first = Growable(np.uint64)
        self._second = Growable(np.uint64)
        self._gone = Growable(np.bool_)
        self._removed = 0
        self._slots = np.zeros(_LEAST, dtype=np.int32)
        """The number of the key that stands here, plus one."""

    def __len__(self) -> int:
        return self._first.size - self._removed

    @property
    def numbered(self) -> int:
        """How many numbers have been given out."""
        return self._first.size

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._first.nbytes + self._second.nbytes + self._gone.nbytes + int(self._slots.nbytes)

    def add(self, keys: Lanes) -> tuple[np.ndarray, np.ndarray]:
        """The number of each key, new ones numbered; and where the new ones stand in the batch, in number order.

        A key that comes several times in the batch has one number and is new in one place.
        """
        size = len(keys[0])
        self._make_room(self.numbered + size)
        numbers = np.empty(size, dtype=np.int64)
        fresh: list[np.ndarray] = []
        pending, (first, second), at = np.arange(size), keys, self._start(keys[0])
        while len(pending) > _FEW:
            free = (self._slots[at] == _FREE).nonzero()[0]
            if len(free):
                won = self._claim(at, free)
                self._first.extend(first[won])
                self._second.extend(second[won])
                fresh.append(pending[won])
            found = self._slots[at]
            same = self._is(found, first, second)
            numbers[pending[same]] = found[same] - 1
            rest = (~same).nonzero()[0]
            pending, first, second = pending[rest], first[rest], second[rest]
            at = self._step(at[rest], second)
        fresh.append(np.array(self._add_one_by_one(numbers, pending, first, second, at), dtype=np.int64))
        self._gone.extend(np.zeros(self.numbered - self._gone.size, dtype=np.bool_))
        return numbers, np.concatenate(fresh)

    def _add_one_by_one(
        self, numbers: np.ndarray, pending: np.ndarray, first: np.ndarray, second: np.ndarray, at: np.ndarray
    ) -> list[int]:
        """The rest of `add`, for so few keys that a round of numpy calls costs more than they do."""
        slots, mask, fresh = self._slots, len(self._slots) - 1, []
        for number, place in enumerate(pending.tolist()):
            a, b, slot = first[number], second[number], int(at[number])
            while (found := int(slots[slot])) != _FREE:
                if found > 0 and self._first.view()[found - 1] == a and self._second.view()[found - 1] == b:
                    break
                slot = (slot + (int(b) & mask | 1)) & mask
            else:
                self._first.extend(first[number : number + 1])
                self._second.extend(second[number : number + 1])
                slots[slot] = found = self.numbered
                fresh.append(place)
            numbers[place] = found - 1
        return fresh

    def find(self, keys: Lanes) -> np.ndarray:
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

    def keys(self, numbers: np.ndarray) -> Lanes:
        """The keys of some numbers."""
        return self._first.at(numbers), self._second.at(numbers)

    def live(self) -> np.ndarray:
        """The numbers of the keys that are here."""
        return np.flatnonzero(~self._gone.view())

    @classmethod
    def of(cls, keys: Lanes) -> HashTable:
        """A table of keys, all different, numbered in the order given. O(keys)."""
        table = cls()
        table._first.extend(keys[0])
        table._second.extend(keys[1])
        table._gone.extend(np.zeros(len(keys[0]), dtype=np.bool_))
        if not table._make_room(table.numbered):
            table._enter(table.live())
        return table

    # --- slots -----------------------------------------------------------------------------------------------------

    def _start(self, first: np.ndarray) -> np.ndarray:
        start: np.ndarray = (first & np.uint64(len(self._slots) - 1)).astype(np.int64)
        return start

    def _step(self, at: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The next slot to look at. The step is odd and the number of slots a power of two: every slot is visited."""
        mask = len(self._slots) - 1
        following: np.ndarray = (at + ((second & np.uint64(mask)).astype(np.int64) | 1)) & mask
        return following

    def _is(self, found: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Which slots hold the key that is looked for."""
        numbers = np.maximum(found, 1) - 1  # free and removed slots are read as if they held number 0
        if not self.numbered:
            return np.zeros(len(found), dtype=np.bool_)
        same = (self._first.at(numbers) == first) & (self._second.at(numbers) == second) & (found > 0)
        return np.asarray(same)

    def _claim(self, at: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Give each free slot to one of those that stand on it; who they are."""
        wanted = at[free]
        names = np.arange(1, len(free) + 1, dtype=self._slots.dtype)
        self._slots[wanted] = names
        won: np.ndarray = free[self._slots[wanted] == names]
        self._slots[at[won]] = np.arange(self.numbered + 1, self.numbered + 1 + len(won))
        return won

    def _places(self, keys: Lanes) -> list[tuple[np.ndarray, np.ndarray]]:
        """Where keys stand: positions in the batch and their slots, a pair for each round."""
        places = []
        pending, (first, second), at = np.arange(len(keys[0])), keys, self._start(keys[0])
        while len(pending):
            found = self._slots[at]
            same = self._is(found, first, second)
            places.append((pending[same], at[same]))
            rest = np.flatnonzero(~same & (found != _FREE))
            pending, first, second = pending[rest], first[rest], second[rest]
            at = self._step(at[rest], second)
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
        second = self._second.at(numbers)
        at = self._start(self._first.at(numbers))
        while len(numbers):
            free = np.flatnonzero(self._slots[at] == _FREE)
            self._slots[at[free]] = numbers[free] + 1
            rest = np.flatnonzero(self._slots[at] != numbers + 1)
            numbers, second = numbers[rest], second[rest]
            at = self._step(at[rest], second)
