"""What is written and the tree it means."""

from __future__ import annotations

import pytest

from cep.ir import ast
from cep.syntax.parse import MAX_NESTING
from cep.syntax.unparse import unparse_body, unparse_expr
from tests.syntax.helpers import formatted, parsed, parsed_well, report

CARD_TESTING = """\
-- card_testing.cep
STREAM Trans (
  ts   TIMESTAMP,
  acc  STRING,
  amnt DOUBLE
) TIMESTAMP BY ts WATERMARK 10 SECONDS;

PATTERN CardTesting
  SEQ(Trans s1, Trans s2, Trans l)
  WHERE s1.acc = s2.acc AND s2.acc = l.acc
    AND s1.amnt < 100 AND s2.amnt < 100 AND l.amnt > 400
  WITHIN 1 HOUR
  RETURN l.acc AS acc, s1.ts AS first_ts, l.ts AS last_ts, l.amnt AS amount;
"""


def where(condition: str) -> ast.Expr:
    (pattern,) = parsed_well(f"PATTERN P A a WHERE {condition} UNBOUNDED;").statements
    assert isinstance(pattern, ast.PatternDecl)
    assert pattern.where is not None
    return pattern.where


def shape(expr: ast.Expr) -> str:
    """The tree with a bracket around every operator."""
    if isinstance(expr, ast.Binary):
        return f"({shape(expr.left)} {expr.op} {shape(expr.right)})"
    if isinstance(expr, ast.Unary):
        return f"({expr.op} {shape(expr.operand)})"
    return unparse_expr(expr)


def test_the_example_of_the_contract_is_in_the_one_style() -> None:
    stream, pattern = parsed_well(CARD_TESTING).statements
    assert isinstance(stream, ast.StreamDecl)
    assert isinstance(pattern, ast.PatternDecl)
    assert [(c.name.text, c.type.text) for c in stream.columns] == [
        ("ts", "TIMESTAMP"), ("acc", "STRING"), ("amnt", "DOUBLE"),
    ]  # fmt: skip
    assert stream.timestamp_by is not None
    assert stream.watermark is not None
    assert (stream.timestamp_by.text, stream.watermark.micros) == ("ts", 10_000_000)
    assert isinstance(pattern.window, ast.Within)
    assert pattern.window.duration.micros == 3_600_000_000
    assert pattern.returns is not None
    assert [item.alias.text for item in pattern.returns.items if item.alias] == ["acc", "first_ts", "last_ts", "amount"]
    assert formatted(CARD_TESTING) == CARD_TESTING


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a.x = 1 OR a.y = 2 AND a.z = 3", "((a.x = 1) OR ((a.y = 2) AND (a.z = 3)))"),
        ("NOT a.x = 1 AND a.y", "((NOT (a.x = 1)) AND a.y)"),
        ("a.x - 1 - 2 * 3 % 4 / 5 = 0", "(((a.x - 1) - (((2 * 3) % 4) / 5)) = 0)"),
        ("-a.x * -2 < 0", "(((- a.x) * (- 2)) < 0)"),
        ("a.x != 1 AND a.y == 2", "((a.x <> 1) AND (a.y = 2))"),
        ("a.x BETWEEN 1 AND 2 AND a.y", "(a.x BETWEEN 1 AND 2 AND a.y)"),
        ("(a.x OR a.y) AND a.z", "((a.x OR a.y) AND a.z)"),
        ("a.x NOT IN (1, 2) OR a.y IS NOT NULL", "(a.x NOT IN (1, 2) OR a.y IS NOT NULL)"),
        ("a.ts < a.b + 1 hour", "(a.ts < (a.b + 1 HOUR))"),
        ("a.x > -9223372036854775808", "(a.x > -9223372036854775808)"),
    ],
)
def test_precedence(written: str, meant: str) -> None:
    assert shape(where(written)) == meant


@pytest.mark.parametrize(
    ("written", "least", "most"),
    [("+", 1, None), ("*", 0, None), ("{0,1}", 0, 1), ("{2}", 2, 2), ("{2,5}", 2, 5), ("{2,}", 2, None)],
)
def test_a_quantifier_makes_a_set(written: str, least: int, most: int | None) -> None:
    (pattern,) = parsed_well(f"PATTERN P SEQ(A a, B{written} b) UNBOUNDED;").statements
    assert isinstance(pattern, ast.PatternDecl)
    assert isinstance(pattern.body, ast.Seq)
    repeat = pattern.body.items[1]
    assert isinstance(repeat, ast.Repeat)
    assert (repeat.least, repeat.most) == (least, most)


@pytest.mark.parametrize(
    "written",
    [
        "SEQ(A a, B? b)",
        "SEQ(FIRST(A a), LAST(B b))",
        "AND(NEXT(A a, B b), RUN(C{2,} c))",
        'SEQ(FIRST FIRST, run+ RUN, next? NEXT, NOT last{2,} "LAST")',
        "OR(SEQ(A a, B* b), B? b, B{0,1} b)",
    ],
)
def test_bodies_are_written_as_they_are_read(written: str) -> None:
    (pattern,) = parsed_well(f"PATTERN P {written} UNBOUNDED;").statements
    assert isinstance(pattern, ast.PatternDecl)
    assert unparse_body(pattern.body) == written.replace('"LAST"', "LAST")


def test_words_of_the_body_are_operators_in_any_case_and_never_quoted() -> None:
    text = 'PATTERN P\n  SEQ(first( A a ),Run (B + b) , "next"(C c))\n  UNBOUNDED;\n'
    (finding,) = report(text)
    assert finding.startswith("2:34-2:40 CEP0101 `next` is no operator of a body")
    assert formatted(text.replace('"next"', "next")) == (
        "PATTERN P\n  SEQ(FIRST(A a), RUN(B+ b), NEXT(C c))\n  UNBOUNDED;\n"
    )


def test_bodies_nest() -> None:
    (pattern,) = parsed_well("pattern P seq(A a, and(B b, or(C c, not D d))) unbounded;").statements
    assert isinstance(pattern, ast.PatternDecl)
    assert unparse_body(pattern.body) == "SEQ(A a, AND(B b, OR(C c, NOT D d)))"


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1970-01-01 00:01", 60_000_000),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:00:00-0100", 0),
    ],
)
def test_timestamps_without_a_zone_are_utc(text: str, micros: int) -> None:
    literal = where(f"TIMESTAMP '{text}'")
    assert isinstance(literal, ast.TimestampLiteral)
    assert literal.micros == micros


@pytest.mark.parametrize("text", ["", "yesterday", "2024-02-30", "2024-01-01T25:00", "2024-1-1", "2024-01-01T00:00+99"])
def test_timestamps_that_do_not_exist(text: str) -> None:
    (finding,) = report(f"PATTERN P A a WHERE a.t > TIMESTAMP '{text}' UNBOUNDED;")
    assert "CEP0105" in finding


def test_spans_cover_what_was_written() -> None:
    text = "PATTERN P A a WHERE (a.x + 1) * 2 > f(a.y) UNBOUNDED;"
    condition = parsed_well(text).statements[0].where  # type: ignore[attr-defined]
    cut = [
        text[node.span.start : node.span.end]
        for node in (condition, condition.left, condition.left.left, condition.right)
    ]
    assert cut == ["(a.x + 1) * 2 > f(a.y)", "(a.x + 1) * 2", "(a.x + 1)", "f(a.y)"]


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 10_000 + "a.x" + ")" * 10_000,
        "NOT " * 10_000 + "a.x",
        "- " * 10_000 + "a.x",
        "f(" * 10_000,
        "CASE WHEN " * 10_000,
        "a.x = 1 AND " * 1000 + "a.x",
        "1 + " * 1000 + "1 = 2",
    ],
    ids=["brackets", "not", "minus", "calls", "case", "and", "plus"],
)
def test_what_is_too_deep_is_reported_and_the_rest_still_read(deep: str) -> None:
    file, found = parsed(f"PATTERN P A a WHERE {deep} UNBOUNDED; PATTERN Q A a UNBOUNDED; PATTERN R ;")
    assert "CEP0107" in [d.code for d in found]
    assert "CEP0101" in [d.code for d in found]
    assert "Q" in [s.name.text for s in file.statements if isinstance(s, ast.PatternDecl)]


def test_what_is_just_not_too_deep_is_read() -> None:
    depth = MAX_NESTING
    assert shape(where("(" * depth + "a.x" + ")" * depth)) == "a.x"
    where("f(" * depth + "a.x" + ")" * depth)
    where("CASE WHEN " * depth + "a.x" + " THEN 1 END" * depth)


@pytest.mark.parametrize("text", ["", " \n", "-- only a comment", "/* a */", "\ufeff"])
def test_a_file_may_hold_nothing(text: str) -> None:
    assert parsed_well(text).statements == ()
