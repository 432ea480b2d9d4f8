"""No file makes a pass raise: whatever is wrong with it is a finding with a place in the text."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from passes import judge

from cep.compiler.load import read_source
from cep.diagnostics import Diagnostics
from cep.ir.body import steps
from cep.ir.expr import Col, columns
from cep.ir.model import Pattern
from cep.source import Source

PAGE = (Path(__file__).parents[2] / "docs" / "diagnostics.md").read_text(encoding="utf-8")
STREAMS, *EXAMPLES = re.findall(r"^```cep\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CASES = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "cases").glob("*.cep"))]
TEXTS = CASES + [text.replace("IMPORT 'streams.cep';\n", STREAMS) for text in EXAMPLES]
TOKENS = sorted({token for text in TEXTS for token in re.findall(r"'[^'\n]*'|\w+|[^\w\s]", text)})
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["drop", "double", "replace", "insert", "swap"]),
        st.integers(0, 10_000),
        st.sampled_from(TOKENS),
    ),
    min_size=1,
    max_size=4,
)


def mutate(text: str, edits: list[tuple[str, int, str]]) -> str:
    pieces = re.findall(r"'[^'\n]*'|\w+|\s+|[^\w\s]", text)
    for kind, place, token in edits:
        if not pieces:
            break
        at = place % len(pieces)
        if kind == "drop":
            del pieces[at]
        elif kind == "double":
            pieces.insert(at, pieces[at])
        elif kind == "replace":
            pieces[at] = token
        elif kind == "insert":
            pieces.insert(at, f" {token} ")
        else:
            other = (place * 7 + 3) % len(pieces)
            pieces[at], pieces[other] = pieces[other], pieces[at]
    return "".join(pieces)


def assert_findings_have_places(source: Source) -> None:
    patterns, diagnostics = judge(source)
    for item in diagnostics:
        for span in (item.span, *(label.span for label in item.labels)):
            if span.file == source.name:
                assert 0 <= span.start <= span.end <= len(source.text), item
                assert source.position(span.start) == (span.line, span.column), item
    if not diagnostics.has_errors:
        for pattern in patterns:
            assert pattern.fields, pattern
            for branch in pattern.branches or (pattern,):
                assert_model(branch)
                assert [(name, expr.type) for name, expr in branch.fields] == [
                    (name, expr.type) for name, expr in pattern.fields
                ]


def assert_model(pattern: Pattern) -> None:
    """Every condition is with whom it speaks of, and speaks of nothing that there is not."""
    single = {Col(v.name, attr, type_) for v in pattern.variables for attr, type_ in v.stream.columns}
    own = {gap.name: {Col(gap.name, attr, type_) for attr, type_ in gap.stream.columns} for gap in pattern.gaps}
    values = {gap.name: {Col(gap.name, one.name, one.type) for one in gap.aggregates} for gap in pattern.gaps}
    prev = {gap.name: {Col(gap.name, f"PREV({col.attr})", col.type) for col in own[gap.name]} for gap in pattern.gaps}
    every_value = set().union(*values.values())
    assert sorted(step.var for step in steps(pattern.body)) == sorted([*own, *(v.name for v in pattern.variables)])
    assert all(set(columns(condition.expr)) <= single for condition in pattern.conditions)
    assert all(set(columns(condition.expr)) <= single | every_value for condition in pattern.having)
    assert all(set(columns(condition.expr)) & every_value for condition in pattern.having)
    assert all(set(columns(expr)) <= single | every_value for _, expr in pattern.fields)
    used = [expr for _, expr in pattern.fields]
    used += [c.expr for c in (*pattern.having, *(c for gap in pattern.gaps for c in (*gap.conditions, *gap.pairs)))]
    assert every_value == every_value & {col for expr in used for col in columns(expr)}
    for gap in pattern.gaps:
        others = single | (every_value - values[gap.name])
        for condition in gap.conditions:
            assert set(columns(condition.expr)) & own[gap.name]
            assert set(columns(condition.expr)) <= others | own[gap.name]
        for condition in gap.pairs:
            assert set(columns(condition.expr)) & prev[gap.name]
            assert set(columns(condition.expr)) <= others | own[gap.name] | prev[gap.name]
        for one in gap.aggregates:
            assert one.arg is None or set(columns(one.arg)) <= own[gap.name]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(TEXTS), EDITS)
def test_a_mutated_file_never_raises(text: str, edits: list[tuple[str, int, str]]) -> None:
    assert_findings_have_places(Source("<mutated>", mutate(text, edits)))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60))
def test_a_soup_of_tokens_never_raises(tokens: list[str]) -> None:
    assert_findings_have_places(Source("<soup>", " ".join(tokens)))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_random_text_never_raises(text: str) -> None:
    assert_findings_have_places(Source("<random>", text))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_random_bytes_are_text_or_a_finding(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "random.cep"
    path.write_bytes(data)
    diagnostics = Diagnostics()
    source = read_source(str(path), diagnostics)
    if source is None:
        assert [item.code for item in diagnostics] == ["CEP0002"]
    else:
        assert_findings_have_places(source)


def test_a_large_file_is_judged_to_its_end() -> None:
    streams = "".join(f"STREAM S{i} (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts;\n" for i in range(100))
    patterns = "".join(
        f"PATTERN P{i} SEQ(S{i} a, S0 b) WHERE a.k = b.k AND a.n < 5 AND a.n > 9 WITHIN 1 HOUR;\n" for i in range(100)
    )
    _, diagnostics = judge(Source("<large>", streams + patterns))
    assert [item.code for item in diagnostics] == ["CEP0403"] * 100
