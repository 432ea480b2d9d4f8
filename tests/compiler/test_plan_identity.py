"""Plans are values: what their key depends on, that they are the same in every process, and how they look."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import cep
from cep.ir.plan import Plan
from tests.compiler.patterns import HOUR, STREAMS, plan

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"

BASE = f"""{STREAMS}
PATTERN P
  SEQ(T a, T b, T c)
  WHERE a.k = b.k AND b.k = c.k AND a.x < 5 AND c.x > 7 AND a.p < b.p
  WITHIN 1 HOUR
  RETURN a.k AS k, c.ts AS done;
"""


def compiled(text: str) -> Plan:
    return cep.compile(text)["P"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: " ".join(text.split()),
        lambda text: text.replace("\n", "\n\n  -- a comment\n"),
        lambda text: text.replace("WITHIN", "/* one\n * two */ WITHIN"),
        lambda text: text.replace("SEQ", "seq").replace("WHERE", "where").replace("RETURN", "return"),
        lambda text: text.replace("a.x < 5", "((a.x) < 5)"),
        lambda text: text.replace("a.x < 5 AND", "(a.x < 5) AND"),
        lambda text: text.replace("1 HOUR", "60 MINUTES"),
        lambda text: text.replace("a.p < b.p", "b.p > a.p"),
        lambda text: text.replace("a.p < b.p", "NOT a.p >= b.p"),
        lambda text: text.replace("a.k = b.k AND b.k = c.k", "c.k = a.k AND c.k = b.k"),
        lambda text: text.replace("  WITHIN", "  AND a.ts < c.ts\n  WITHIN"),
        lambda text: text.replace("  WITHIN 1 HOUR", "  AND c.ts <= a.ts + 1 HOUR\n  UNBOUNDED"),
        lambda text: text + "STREAM Other (x INT);\nPATTERN Q AND(Other a, Other b) WHERE a.x < b.x UNBOUNDED;\n",
        lambda text: "PATTERN Q AND(W a, W b) WHERE a.x < b.x UNBOUNDED;" + text,
    ],
    ids=range(14),
)
def test_the_key_does_not_depend_on_how_a_pattern_is_written(edit: object) -> None:
    edited = edit(BASE)  # type: ignore[operator] # a function of the text
    assert edited != BASE
    assert compiled(edited).meaning == compiled(BASE).meaning
    assert compiled(edited) == compiled(BASE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a.x < 5", "a.x < 6"),
        ("a.x < 5", "a.x <= 5"),
        ("a.x < 5", "a.y < 5"),
        ("a.x < 5", "b.x < 5"),
        ("a.x < 5 AND ", ""),
        ("a.p < b.p", "a.p <= b.p"),
        ("a.p < b.p", "b.p < a.p"),
        ("a.p < b.p", "a.p <> b.p"),
        ("b.k = c.k", "b.g = c.g"),
        ("1 HOUR", "59 MINUTES"),
        ("WITHIN 1 HOUR", "UNBOUNDED"),
        ("SEQ(T a, T b, T c)", "AND(T a, T b, T c)"),
        ("SEQ(T a, T b, T c)", "SEQ(T a, AND(T b, T c))"),
        ("RETURN a.k", "RETURN DISTINCT a.k"),
        ("a.k AS k", "b.k AS k"),
        ("a.k AS k", "a.k AS key"),
        ("c.ts AS done", "c.ts AS done, c.x AS x"),
        ("a.k AS k, c.ts AS done", "c.ts AS done, a.k AS k"),
        ("x INT, y INT, p DOUBLE, f", "x DOUBLE, y INT, p DOUBLE, f"),
        ("TIMESTAMP BY ts", "TIMESTAMP BY u"),
        ("TIMESTAMP BY ts", "TIMESTAMP BY ts WATERMARK 5 SECONDS"),
        ("TIMESTAMP BY ts", "TIMESTAMP BY ts ORDER BY x"),
        ("ts TIMESTAMP", "ts TIMESTAMP EPOCH SECONDS"),
        ("ts TIMESTAMP", "ts TIMESTAMP FORMAT '%F'"),
        ("PATTERN P", "PATTERN P2"),
    ],
)
def test_the_key_changes_with_the_meaning(before: str, after: str) -> None:
    assert before in BASE
    (edited,) = cep.compile(BASE.replace(before, after, 1)).values()
    assert edited.meaning != compiled(BASE).meaning
    assert edited.layout != compiled(BASE).layout


def test_the_key_does_not_depend_on_what_is_only_said_of_the_plan() -> None:
    found = compiled(BASE)
    assert replace(found, notes=("a remark",), tree=None).layout == found.layout
    assert replace(found, window=HOUR + 1).layout != found.layout


def test_the_key_does_not_depend_on_how_far_ahead_events_may_be() -> None:
    """A job may be started again with another limit: what it refuses is no event."""
    assert (
        compiled(BASE.replace("TIMESTAMP BY ts", "TIMESTAMP BY ts MAX AHEAD 1 HOUR")).meaning == compiled(BASE).meaning
    )


def test_keys_of_plans_that_use_nothing_new_are_those_of_old() -> None:
    """Checkpoints and snapshots hold this key: it was written down before MAX AHEAD, ORDER BY and formats existed."""
    found = cep.compile_file(str(ROOT / "examples" / "card_testing" / "pattern.cep"))["CardTesting"]
    assert found.is_of("dabcd97f8a1262083d2ed42b266c82328a0adfbac174e3a399d25ce7a0cf7f5a")
    assert found.is_of(found.meaning)
    assert not found.is_of(compiled(BASE).meaning)


def test_plans_are_values() -> None:
    found, again = compiled(BASE), compiled(BASE)
    assert found == again
    assert hash(found) == hash(again)
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found
    assert (copy.meaning, copy.layout, repr(copy)) == (found.meaning, found.layout, repr(found))


SHOW = """
import sys
from cep import compile_file
from cep.explain.text import render
for path in sys.argv[1:]:
    for plan in compile_file(path).values():
        print(plan.meaning, plan.layout)
        print(plan, plan.indexes, plan.triggers, plan.leaves, plan.keys, plan.connex_variables, plan.bags)
        print(render([plan]))
"""


def test_the_same_plan_under_every_hash_seed() -> None:
    files = [str(path) for path in sorted((ROOT / "tests" / "golden").glob("*.cep"))]
    outputs = set()
    for seed in ("0", "1", "12345"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", SHOW, *files]
        outputs.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(outputs) == 1
    assert "Plan Example4" in outputs.pop()


# --- repr ----------------------------------------------------------------------------------------------------------


def test_repr_is_a_short_tree() -> None:
    found = cep.compile_file(str(ROOT / "examples" / "card_testing" / "pattern.cep"))["CardTesting"]
    expected = (GOLDEN / "card_testing.repr").read_text(encoding="utf-8").rstrip("\n")
    assert repr(found).replace(found.meaning[:12], "KEY") == expected
    assert str(found) == repr(found)


def test_repr_of_a_cyclic_plan_names_its_bag() -> None:
    found = plan("AND(W a, W b, W c) WHERE a.x = b.x AND b.y = c.y AND a.k = c.k UNBOUNDED")
    assert "  bag        a, b, c" in repr(found).splitlines()
