"""Fingerprints are what `runtime.state.aes_hash` and `Digests` say they are: hashed here again, in plain Python.

Nothing is shared with the engine: neither numpy, nor the package that has AES, nor the way in which rows are written.
"""

from __future__ import annotations

import hashlib
import struct
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.ir.types import Type
from runtime.arrays.columnar import as_computed
from runtime.arrays.columns import Column, make_column
from runtime.state.id_key import IdKey
from runtime.state.identity import Digests

# --- AES-128, as FIPS 197 has it ------------------------------------------------------------------------------------


def doubled(byte: int) -> int:
    return (byte << 1) ^ (0x11B if byte & 0x80 else 0)


def s_box() -> list[int]:
    box, p, q = [0x63] * 256, 1, 1
    while True:
        p = p ^ doubled(p)  # times 3
        for shift in (1, 2, 4):
            q ^= (q << shift) & 0xFF
        q ^= 0x09 if q & 0x80 else 0  # divided by 3
        turned = [((q << n) | (q >> (8 - n))) & 0xFF for n in range(5)]
        box[p] = 0x63 ^ turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ turned[4]
        if p == 1:
            return box


S_BOX = s_box()


def round_keys(key: bytes) -> list[bytes]:
    words = [key[i : i + 4] for i in range(0, 16, 4)]
    factor = 1
    for number in range(4, 44):
        word = words[-1]
        if number % 4 == 0:
            word = bytes(S_BOX[b] for b in word[1:] + word[:1])
            word = bytes([word[0] ^ factor]) + word[1:]
            factor = doubled(factor)
        words.append(xor(words[-4], word))
    return [b"".join(words[i : i + 4]) for i in range(0, 44, 4)]


def xor(*parts: bytes) -> bytes:
    result = parts[0]
    for part in parts[1:]:
        result = bytes(a ^ b for a, b in zip(result, part, strict=True))
    return result


def aes(keys: list[bytes], block: bytes) -> bytes:
    state = xor(block, keys[0])
    for number in range(1, 11):
        state = bytes(S_BOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16))  # bytes substituted, rows shifted
        if number < 10:
            mixed = []
            for i in range(0, 16, 4):
                a, b, c, d = state[i : i + 4]
                for one, two, three, four in ((a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c)):
                    mixed.append(doubled(one) ^ doubled(two) ^ two ^ three ^ four)
            state = bytes(mixed)
        state = xor(state, keys[number])
    return state


def test_the_aes_of_these_tests_is_that_of_the_standard() -> None:
    """FIPS 197, appendices A.1 and C.1."""
    key = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
    assert round_keys(key)[10].hex() == "d014f9a8c9ee2589e13f0cc8b6630ca6"
    plain, key = bytes.fromhex("00112233445566778899aabbccddeeff"), bytes(range(16))
    assert aes(round_keys(key), plain).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


# --- the hash -------------------------------------------------------------------------------------------------------

Row = tuple[Any, ...]


def hashed(message: bytes, secret: bytes) -> bytes:
    """Shrimpton and Stam's compression in a chain, and a last function."""
    keys = []
    for number in range(6):
        person = f"cep row hash {number}".encode()
        keys.append(round_keys(hashlib.blake2b(digest_size=16, key=secret, person=person).digest()))
    chain = bytes(16)
    for place in range(0, len(message), 16):
        block = message[place : place + 16]
        first = xor(aes(keys[0], chain), chain)
        second = xor(aes(keys[1], block), block)
        inner = xor(first, second)
        chain = xor(first, aes(keys[2], inner), aes(keys[3], inner))
    return xor(aes(keys[4], chain), aes(keys[5], chain))


def role(names: Sequence[str], types: Sequence[Type]) -> bytes:
    parts = [*names]
    for number, type_ in enumerate(types):
        parts += [f"c{number}", type_.name]
    text = b"".join(struct.pack("<Q", len(part.encode())) + part.encode() for part in parts)
    return hashlib.blake2b(text, digest_size=16).digest()


def message(row: Row, ordinal: int, types: Sequence[Type]) -> bytes:
    """What a row is written as, behind its role."""
    nulls = sum(1 << place for place, value in enumerate(row) if value is None)
    head = struct.pack("<Q", ordinal) + nulls.to_bytes(8 * -(-len(row) // 64), "little")
    numbers = b""
    texts = b""
    for value, type_ in zip(row, types, strict=True):
        if type_ is Type.STRING:
            texts += text_pieces((value or "").encode())
        elif type_ is Type.DOUBLE:
            numbers += struct.pack("<d", (value or 0.0) + 0.0)  # -0.0 is 0.0
        else:
            numbers += struct.pack("<q", int(value or 0))
    return padded(head) + padded(numbers) + texts


def padded(words: bytes) -> bytes:
    return words + bytes(-len(words) % 16)


def text_pieces(text: bytes) -> bytes:
    flag = 0
    if len(text) > 120:
        text, flag = hashlib.blake2b(text, digest_size=30).digest(), 0x40
    pieces = [text[place : place + 15] for place in range(0, len(text), 15)] or [b""]
    tags = [len(piece) | flag | 0x80 for piece in pieces[:-1]] + [len(pieces[-1]) | flag]
    return b"".join(piece.ljust(15, b"\0") + bytes([tag]) for piece, tag in zip(pieces, tags, strict=True))


def read_back(written: bytes, types: Sequence[Type]) -> tuple[Row, int]:
    """The row of a message: whatever can be read back is written in one way only. A long text is its digest."""
    blocks = (written[place : place + 16] for place in range(0, len(written), 16))
    head = words(blocks, 1 + -(-len(types) // 64))
    nulls = int.from_bytes(head[8:], "little")
    kinds = [type_ for type_ in types if type_ is not Type.STRING]
    numbers = iter(struct.iter_unpack("8s", words(blocks, len(kinds))))
    values: list[Any] = [None if t is Type.STRING else number(next(numbers)[0], t) for t in types]
    for place, type_ in enumerate(types):
        if type_ is Type.STRING:
            values[place] = text_of(blocks)
    assert next(blocks, None) is None, "a message says where it ends"
    return tuple(None if nulls >> place & 1 else v for place, v in enumerate(values)), int.from_bytes(
        head[:8], "little"
    )


def words(blocks: Iterator[bytes], count: int) -> bytes:
    return b"".join(next(blocks) for _ in range(-(-count // 2)))[: 8 * count]


def number(word: bytes, type_: Type) -> Any:
    value = struct.unpack("<d" if type_ is Type.DOUBLE else "<q", word)[0]
    return bool(value) if type_ is Type.BOOLEAN else value


def text_of(blocks: Iterator[bytes]) -> Any:
    text = b""
    while True:
        block = next(blocks)
        text += block[: block[15] & 0x0F]
        if not block[15] & 0x80:
            return text if block[15] & 0x40 else text.decode()


# --- what the engine does -------------------------------------------------------------------------------------------

ARROW = {
    Type.INT: pa.int64(),
    Type.TIMESTAMP: pa.int64(),
    Type.DURATION: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
}
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT: st.integers(-(2**63), 2**63 - 1) | st.sampled_from((0, 1, -1)),
    Type.TIMESTAMP: st.integers(0, 2**50),
    Type.DURATION: st.integers(-5, 5),
    Type.DOUBLE: st.floats(allow_nan=False) | st.sampled_from((0.0, -0.0)),
    Type.BOOLEAN: st.booleans(),
    Type.STRING: st.text("a\x00ä", max_size=8) | st.integers(0, 200).map("x".__mul__) | st.just("ä" * 61),
}
KEY = b"a key of some bytes"


def columns_of(rows: list[Row], types: Sequence[Type]) -> dict[str, Column]:
    columns = {}
    for place, type_ in enumerate(types):
        column = make_column(type_)
        column.extend(as_computed(pa.array([row[place] for row in rows], ARROW[type_])))
        columns[f"c{place}"] = column
    return columns


def fingerprints(
    rows: list[Row], types: Sequence[Type], ordinals: list[int] | None = None, key: bytes | None = None
) -> list[bytes]:
    digests = Digests(("P", "a"), columns_of(rows, types), None if key is None else IdKey(key))
    given_ordinals = None if ordinals is None else np.array(ordinals, dtype=np.int64)
    return list(digests.of(np.arange(len(rows)), given_ordinals).view("V16").tolist())


def expected(row: Row, ordinal: int, types: Sequence[Type], secret: bytes = b"") -> bytes:
    return hashed(role(("P", "a"), types) + message(row, ordinal, types), secret)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_fingerprint_is_the_hash_of_a_message_that_can_be_read_back(data: st.DataObject) -> None:
    """Every type, NULLs, ordinals, texts of every length, with a key and without."""
    types = data.draw(st.lists(st.sampled_from(sorted(VALUES, key=str)), max_size=6))
    rows = data.draw(st.lists(st.tuples(*(st.none() | VALUES[type_] for type_ in types)), min_size=1, max_size=4))
    ordinals = data.draw(st.none() | st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    secret = data.draw(st.sampled_from((b"", KEY)))
    found = fingerprints(rows, types, ordinals, secret or None)
    for row, ordinal, fingerprint in zip(rows, ordinals or [0] * len(rows), found, strict=True):
        written = message(row, ordinal, types)
        assert read_back(written, types) == (tuple(map(shown, row)), ordinal)
        assert fingerprint == hashed(role(("P", "a"), types) + written, secret)


def shown(value: Any) -> Any:
    """What is left of a value in a message."""
    long = isinstance(value, str) and len(value.encode()) > 120
    return hashlib.blake2b(value.encode(), digest_size=30).digest() if long else value


KNOWN = {
    (7, "ä", 1.5, True, None): "1e630b2a16e9c0698d1c3c42082ba363",
    (0, "", 0.0, False, 0): "7e080c3d25db2290ab24a9600f8f562c",
    (-1, "a text that takes three pieces in all", -1e300, None, 2**40): "619efda03c916fb784ef58becea32ec6",
    (0, "x" * 121, 0.0, False, 0): "af306aca66cf1aa7b016cbb8aed01410",
}
TYPES = (Type.INT, Type.STRING, Type.DOUBLE, Type.BOOLEAN, Type.TIMESTAMP)


def test_known_answers() -> None:
    """Whatever else changes, these do not: they are what somebody has stored."""
    assert {row: fingerprints([row], TYPES)[0].hex() for row in KNOWN} == KNOWN
    assert fingerprints([(7, "ä", 1.5, True, None)], TYPES, key=KEY)[0].hex() == "1d31ee174b579ecd650b6d17590959bd"


@pytest.mark.parametrize("size", [0, 1, 7, 8, 14, 15, 16, 29, 30, 31, 119, 120, 121, 135, 5000])
def test_text_of_every_length_is_hashed_to_its_end(size: int) -> None:
    """Alone, and between texts of other lengths: what stands beside it in memory is not part of it."""
    text = "".join(chr(ord("a") + place % 26) for place in range(size))
    neighbours = ["z" * 400, text, "", text, "z"]
    found = fingerprints([(t, 1) for t in neighbours], (Type.STRING, Type.INT))
    assert found[1] == found[3] == expected((text, 1), 0, (Type.STRING, Type.INT))
    others = {text[:-1], text + "a", text[:-1] + "!", text + "\0"} - {text}
    changed = fingerprints([(t, 1) for t in others], (Type.STRING, Type.INT))
    assert found[1] not in changed
    assert len(set(changed)) == len(others)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 127, 128, 129])
def test_more_columns_than_fit_a_word_of_null_bits(count: int) -> None:
    types = (Type.INT,) * count
    rows: list[Row] = [(0,) * count, (None,) * count, (*(0,) * (count - 1), None)]
    found = fingerprints(rows, types)
    assert len(set(found)) == len(set(rows))
    assert found[2] == expected(rows[2], 0, types)


def test_a_row_without_columns_is_its_role_and_ordinal() -> None:
    digests = Digests(("P", "a"), {}, None)
    found = digests.of(np.arange(2), np.array([0, 1])).view("V16").tolist()
    assert found == [expected((), 0, ()), expected((), 1, ())]
    assert digests.of(np.arange(0)).tolist() == []


def test_in_a_large_batch_each_row_is_as_alone() -> None:
    """More rows than are hashed at once, with NULLs, ordinals and long texts here and there, in any order."""
    types = (Type.INT, Type.STRING)
    rows = [(n % 7 or None, "t" * (n % 40 if n % 1000 else 300)) for n in range(10_000)]
    ordinals = [n % 3 // 2 for n in range(10_000)]
    columns = columns_of(rows, types)
    order = np.random.default_rng(5).permutation(10_000)
    digests = Digests(("P", "a"), columns, None)
    found = digests.of(order, np.array(ordinals)[order]).view("V16").tolist()
    for place in [*range(40), 4095, 4096, 8191, 8192, 9999, int(np.flatnonzero(order == 1000)[0])]:
        row = int(order[place])
        assert found[place] == expected(rows[row], ordinals[row], types)
    assert digests.of(order, np.zeros(10_000, dtype=np.int64)).tolist() == digests.of(order).tolist()


def test_threads_do_not_disturb_each_other() -> None:
    rows: list[Row] = [(n, f"text {n}") for n in range(5000)]
    columns = columns_of(rows, (Type.INT, Type.STRING))
    digests = Digests(("P", "a"), columns, None)
    want = digests.of(np.arange(5000)).tobytes()
    found: list[bytes] = []

    def work() -> None:
        found.extend(digests.of(np.arange(5000)).tobytes() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 80
