"""More findings than are listed."""

from __future__ import annotations

from cep import limits
from cep.compiler.pipeline import compile_source
from cep.source import Source

STREAM = "STREAM A (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;\n"
COUNT = limits.FINDINGS + 20


def test_warnings_stop_nothing_however_many_there_are() -> None:
    text = "".join(f"PATTERN P{i} SEQ(A a, A b) WITHIN 1 HOUR;\n" for i in range(COUNT))
    result = compile_source(Source("t.cep", STREAM + text))
    assert len(result.plans) == COUNT
    assert result.ok
    assert result.diagnostics[-1].code == "CEP0110"


def test_a_pattern_is_not_taken_for_right_where_errors_were_not_kept() -> None:
    wrong = "".join(f"PATTERN P{i} SEQ(A a, A b) WHERE a.x{i} = 1 WITHIN 1 HOUR;\n" for i in range(COUNT))
    result = compile_source(Source("t.cep", STREAM + wrong + "PATTERN Q A a;\n"))
    assert (result.plans, result.ok) == ((), False)
