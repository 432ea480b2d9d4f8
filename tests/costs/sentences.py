"""The sentences that `cep explain` can print about costs, by name, and plans that must print them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from cep.ir.plan import Plan
from tests.costs.support import SECOND
from tests.runtime.support import compiled

TIMED = "STREAM T (ts TIMESTAMP, k INT, x INT, y INT) TIMESTAMP BY ts;"
PLAIN = "STREAM W (k INT, x INT, y INT);"

STORE = "O(log n) per event that arrives in the order of its indexes, else also the rows it displaces in its group"
EVENTS = "linear in the events of the last D that pass the filters"
SENTENCES = {
    "stored": "O(1) per event",
    "store": STORE,
    "path": f"{STORE}; one index seek more per neighbour that it could extend",
    "bag": f"{STORE}; finding its matches costs one index seek per partial match",
    "in order": "O(1) per event in time order, at any window size; the event that completes a match costs N index "
    "seeks of O(log n); a late event also costs the rows it precedes in its group",
    "per neighbour": "O(log n) per event in time order, plus one index seek per neighbour in the window that it could "
    "extend",
    "constant": "constant",
    "constant in order": "constant when events arrive in time order; a late event can visit partners that do not "
    "complete",
    "constant at the root": "constant for a new `v`; a new event of another variable can visit partners that do not "
    "complete",
    "constant at the output": "constant for a new `v`; a new event of another variable can merge what agrees on the "
    "output",
    "checked": "not constant: `...` is checked on every partner in range",
    "fails": "not constant: a partner in range can fail to find partners of its own",
    "open bag": "not constant: a cyclic bag is joined variable by variable, partial matches can fail to close",
    "merged": "not constant: combinations that agree on the output are merged as they are found",
    "merged twins": "not constant: where events look alike in the output, combinations that agree on it are merged",
    "window": f"{EVENTS}, however many matches",
    "window and tuples": f"{EVENTS} and in the distinct tuples alive",
    "window and twins": f"{EVENTS} and in the distinct tuples alive that another combination could make",
    "for ever": "linear in the events that pass the filters, for ever (UNBOUNDED)",
    "for ever and tuples": "linear in the events that pass the filters and in the distinct tuples, for ever "
    "(UNBOUNDED)",
    "for ever and twins": "linear in the events that pass the filters and in the distinct tuples that another "
    "combination could make, for ever (UNBOUNDED)",
}
"""All that can be printed, by the name that the tests call it."""


def plan(text: str, **names: str) -> Plan:
    """A plan that must promise this: update, delay or space, by the sentence's name."""
    found = compiled(text)
    for kind, name in names.items():
        assert normal(getattr(found.guarantees, kind)) == SENTENCES[name]
    return found


def normal(sentence: str) -> str:
    """A sentence without what it quotes: names, conditions, counts and durations."""
    sentence = re.sub(r"`[^`]*`(?= is checked)", "`...`", sentence)
    sentence = re.sub(r"`[a-z]\w*`", "`v`", sentence)
    sentence = re.sub(r"costs \d+ index seeks?", "costs N index seeks", sentence)
    return re.sub(r"the last [\d.]+ \w+", "the last D", sentence)


def timed(n: int, **columns: Any) -> dict[str, Any]:
    zero = np.zeros(n, dtype=np.int64)
    return {"ts": np.arange(n) * SECOND, "k": zero, "x": zero, "y": zero, **columns}
