"""Patterns for the tests of the compiler's middle, compiled as far as a test needs them."""

from __future__ import annotations

from cep.compiler.gcq import gcq
from cep.compiler.normalise import Normal, normalise
from cep.compiler.pipeline import compile_source
from cep.ir.gcq import GCQ
from cep.ir.model import Pattern
from cep.ir.plan import Plan
from cep.source import Source

STREAMS = """
STREAM T (ts TIMESTAMP, k STRING, g STRING, x INT, y INT, p DOUBLE, f BOOLEAN, u TIMESTAMP) TIMESTAMP BY ts;
STREAM V (at TIMESTAMP, k STRING, x INT, q DOUBLE) TIMESTAMP BY at;
STREAM W (k STRING, x INT, y INT, p DOUBLE, u TIMESTAMP);
"""
MICROSECOND = 1
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


def _compiled(text: str) -> tuple[Pattern, Plan]:
    result = compile_source(Source("test.cep", f"{STREAMS}PATTERN P {text};"))
    assert result.ok, [str(d.message) for d in result.diagnostics]
    return result.patterns[0], result.plans[0]


def pattern(text: str) -> Pattern:
    """The checked pattern."""
    return _compiled(text)[0]


def normal(text: str) -> Normal:
    """The pattern in normal form."""
    return normalise(pattern(text))


def query(text: str) -> GCQ:
    """The pattern as a query."""
    return gcq(normal(text))


def plan(text: str) -> Plan:
    """The plan."""
    return _compiled(text)[1]


def texts(exprs: object) -> list[str]:
    """Expressions as a user writes them."""
    return [str(expr) for expr in exprs]  # type: ignore[attr-defined] # any iterable of expressions
