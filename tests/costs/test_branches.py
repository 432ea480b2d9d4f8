"""What alternatives cost, counted: what they share is stored and applied once, and what differs is the sum of both."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cep.ir.plan import Plan
from runtime import Engine
from tests.costs.support import SECOND, Work, feed, work
from tests.runtime.support import compiled

STREAM = "STREAM T (ts TIMESTAMP, k INT, role INT) TIMESTAMP BY ts;"
ROLES = {"a": 0, "b": 1, "c": 2, "d": 3}
CHAINS = {
    "in the middle": "SEQ(T a, OR(T b, T c), T d)",
    "at the start": "SEQ(OR(T a, T b), T c, T d)",
    "at the end": "SEQ(T a, T b, OR(T c, T d))",
    "optional": "SEQ(T a, T? b, T c, T d)",
}
INDEX_WORK = ("seeks", "bisections", "appended", "displaced", "visited")


def made(body: str) -> Plan:
    roles = " AND ".join(
        f"{name}.role = {role}" for name, role in ROLES.items() if re.search(rf"T\??  ?{name}\b", body)
    )
    return compiled(f"{STREAM} PATTERN P {body} WHERE {roles} PARTITION BY k WITHIN 9 DAYS;")


def stream(roles: Any) -> dict[str, Any]:
    roles = np.asarray(roles)
    return {"ts": np.arange(len(roles)) * SECOND, "k": np.zeros(len(roles), dtype=np.int64), "role": roles}


def counted(plan: Plan, roles: Any, size: int = 40) -> Work:
    engine = Engine(plan)
    with work(engine) as done:
        feed(engine, stream(roles), size=size, watermark=True)
        engine.finish().read_all()
    return done


@pytest.mark.parametrize("name", CHAINS)
def test_no_alternative_of_a_chain_visits_a_dead_end(name: str) -> None:
    for n in (160, 640):
        roles = np.random.default_rng(n).integers(0, 4, n)
        roles[: n // 2] = 3  # closers that find nothing
        assert counted(made(CHAINS[name]), roles)["dead_ends"] == 0, n


@pytest.mark.parametrize("name", CHAINS)
def test_work_per_event_is_flat_while_nothing_matches(name: str) -> None:
    """Openers and what follows them, all of one key and window, and no event that completes anything."""
    few, many = (counted(made(CHAINS[name]), np.resize([3, 2], n), 1) for n in (300, 1200))
    assert many["matches"] == few["matches"] == 0 or name == "at the end"
    assert many.per_event(*INDEX_WORK) <= few.per_event(*INDEX_WORK) + 0.5


def test_what_alternatives_share_is_appended_once() -> None:
    """Against the two patterns that it stands for: the a's and d's of both are stored once."""
    roles = np.resize([0, 1, 2], 600)
    both = counted(made("SEQ(T a, OR(T b, T c), T d)"), roles)
    one, other = (counted(made(f"SEQ(T a, T {name}, T d)"), roles) for name in "bc")
    assert one["appended"] + other["appended"] - both["appended"] == 200


def test_an_alternative_costs_what_it_would_cost_alone() -> None:
    roles = np.resize([0, 1, 2, 0, 3], 150)
    both = counted(made("SEQ(T a, OR(T b, T c), T d)"), roles)
    one, other = (counted(made(f"SEQ(T a, T {name}, T d)"), roles) for name in "bc")
    assert both["matches"] == one["matches"] + other["matches"] > 1000
    for what in ("seeks", "bisections", "visited"):
        assert both[what] <= one[what] + other[what], what


def test_rows_of_an_optional_step_wait_no_longer_than_without_it() -> None:
    engine = Engine(made("SEQ(T a, T? b, T c)"))
    feed(engine, stream(np.resize([0, 1, 2], 300)), size=10, watermark=True)
    assert engine.waiting <= 10
