"""What people write first, because another language has it, earns the right hint and no misleading one."""

from __future__ import annotations

import pytest

from cep.compiler.pipeline import compile_source
from cep.diagnostics import Severity
from cep.source import Source

STREAM = "STREAM Login (ts TIMESTAMP, u STRING, n INT, d DOUBLE, ok BOOLEAN) TIMESTAMP BY ts;\n"


def pattern(body: str = "SEQ(Login a, Login f)", where: str = "a.u = f.u", tail: str = "WITHIN 5 MINUTES") -> str:
    return f"PATTERN P {body} WHERE {where} {tail};"


CASES = {
    "COUNT(f)": (pattern(where="COUNT(f) = 5"), "CEP0305", "`Login{5} f`"),
    "COUNT(f) >= 5": (pattern(where="a.u = f.u AND COUNT(f) >= 5"), "CEP0305", "`Login{5,} f`"),
    "5 < count(f)": (pattern(where="5 < count(f)"), "CEP0305", "`Login{6,} f`"),
    "COUNT(*)": (pattern(where="COUNT(*) > 5"), "CEP0305", "`Login{5,} f`"),
    "COUNT(*) of a set": (pattern("SEQ(Login+ f, Login a)", "COUNT(*) > 5"), "CEP0305", "`COUNT(f)`"),
    "COUNT(f.*)": (pattern("SEQ(Login+ f, Login a)", "COUNT(f.*) > 5"), "CEP0101", "`COUNT(f)`"),
    "SUM(f.n)": (pattern(where="SUM(f.n) > 5"), "CEP0305", "`Login+ f`"),
    "MAX(a.n, f.n)": (pattern(where="MAX(a.n, f.n) > 5"), "CEP0305", "`GREATEST(x, y)`"),
    "f.count": (pattern(where="f.count > 5"), "CEP0203", "`COUNT(f)`, of a set: `Login{2,} f`"),
    "f.count of a set": (pattern("SEQ(Login+ f, Login a)", "f.count > 5"), "CEP0203", "`COUNT(f)`"),
    "f.first": (pattern("SEQ(Login+ f, Login a)", "f.first > a.ts"), "CEP0203", "`FIRST(f.x)`"),
    "f.last.ts": (pattern("SEQ(Login+ f, Login a)", "f.last.ts > a.ts"), "CEP0101", "`LAST(f.ts)`"),
    "LAST(f).ts": (pattern("SEQ(Login+ f, Login a)", "LAST(f).ts > a.ts"), "CEP0101", "`LAST(f.ts)`"),
    "f[0].n": (pattern("SEQ(Login+ f, Login a)", "f[0].n > 5"), "CEP0102", "`FIRST(b.x)`"),
    "Login[5]": (pattern("SEQ(Login[5] f, Login a)"), "CEP0102", "`B{5,} b`"),
    "Login{5,}": (pattern("SEQ(Login{5,}, Login a)"), "CEP0101", "`Login{5,} l`"),
    "Login+": (pattern("SEQ(Login+, Login a)"), "CEP0101", "`Login+ l`"),
    "Login f+": (pattern("SEQ(Login f+, Login a)"), "CEP0101", "after the stream: `Login+ f`"),
    "Login f{5}": (pattern("SEQ(Login f{5}, Login a)"), "CEP0101", "after the stream: `Login{5,} f`"),
    "Login{2..5}": (pattern("SEQ(Login{2..5} f, Login a)"), "CEP0101", "`Login{2,5} l`"),
    "Login{2-5}": (pattern("SEQ(Login{2-5} f, Login a)"), "CEP0101", "`Login{2,5} l`"),
    "Login{,5}": (pattern("SEQ(Login{,5} f, Login a)"), "CEP0101", "`Login{0,5} l`"),
    "5 Login": (pattern("SEQ(5 Login f, Login a)"), "CEP0101", "`A{5,} a`"),
    "AT LEAST 5": (pattern("SEQ(AT LEAST 5 Login f, Login a)"), "CEP0101", "`A{5,} a`"),
    "TIMES 5": (pattern("SEQ(Login f TIMES 5, Login a)"), "CEP0101", "`A{5,} a`"),
    "OPTIONAL": (pattern("SEQ(OPTIONAL Login f, Login a)"), "CEP0101", "`Login? f`"),
    "FIRST Login": (pattern("SEQ(FIRST Login f, Login a)"), "CEP0101", "`FIRST(Login f)`"),
    "UNTIL": (pattern("SEQ(Login+ f UNTIL Login a)"), "CEP0101", "a set ends where the next step begins"),
    "A OR B": (pattern("SEQ(Login f OR Login g, Login a)"), "CEP0101", "`OR(A a, B b)`"),
    "A AND B": ("PATTERN P Login a AND Login f WITHIN 5 MINUTES;", "CEP0101", "`AND(A a, B b)`"),
    "ANY(...)": (pattern("SEQ(ANY(Login f, Login g), Login a)"), "CEP0101", "`OR(A a, B b)`"),
    "OPTIONAL(...)": (pattern("SEQ(OPTIONAL(Login f), Login a)"), "CEP0101", "`B? b`"),
    "WITHOUT": (pattern("SEQ(Login a WITHOUT Login f)"), "CEP0101", "NOT B b"),
    "NOT FOLLOWED BY": ("PATTERN P Login a NOT FOLLOWED BY Login b WITHIN 5 MINUTES;", "CEP0101", "NOT B b"),
    "AFTER MATCH": (pattern(tail="WITHIN 5 MINUTES AFTER MATCH SKIP PAST LAST ROW"), "CEP0101", "`FIRST(B b)`"),
    "HAVING of a set": (pattern(tail="WITHIN 5 MINUTES HAVING COUNT(f) > 1"), "CEP0101", "stand in WHERE"),
    "OVER": (pattern("SEQ(Login+ f, Login a)", "SUM(f.n) OVER (x) > 1"), "CEP0101", "window of the pattern"),
    "COUNT_DISTINCT": (pattern(where="COUNT_DISTINCT(f.n) > 1"), "CEP0204", "COUNT(DISTINCT b.x)"),
    "CLASSIFIER": (pattern(where="CLASSIFIER(a) = 'x'"), "CEP0204", "STREAM_OF(x)"),
    "MEDIAN": (pattern(where="MEDIAN(f.n) > 1"), "CEP0204", "COUNT, SUM, AVG"),
    "LAG": (pattern(where="LAG(f.n) > 1"), "CEP0204", "`PREV(b.x)`"),
    "PREV": (pattern(where="PREV(f.n) > 1"), "CEP0413", "`RUN(Login{2,} f)`"),
    "b.x = PREV of a set": (pattern("SEQ(Login+ f, Login a)", "f.n > PREV(f.n)"), "CEP0413", "`RUN(Login{2,} f)`"),
    "POWER": (pattern(where="POWER(a.n, 2) > 5"), "CEP0204", "`x * x`"),
    "SQRT": (pattern(where="SQRT(a.n) > 5"), "CEP0204", "not supported yet"),
    "CONCAT": (pattern(where="CONCAT(a.u, f.u) = 'x'"), "CEP0204", "LIKE"),
    "LAST": (pattern(where="LAST(f.ts) > a.ts"), "CEP0305", "`Login+ f`"),
    "NOW": (pattern(where="a.ts > NOW()"), "CEP0204", "times of events only"),
    "IF": (pattern(where="IF(a.n > 1, TRUE, FALSE)"), "CEP0204", "CASE WHEN"),
    "RLIKE": (pattern(where="a.u RLIKE '^x'"), "CEP0101", "regular expressions are not supported yet"),
    "REGEXP": (pattern(where="a.u REGEXP '^x'"), "CEP0101", "regular expressions are not supported yet"),
    "~": (pattern(where="a.u ~ '^x'"), "CEP0102", "regular expressions are not supported yet"),
    "ILIKE": (pattern(where="a.u ILIKE 'x%'"), "CEP0101", "LOWER(a.x) LIKE"),
    "ESCAPE": (pattern(where="a.u LIKE 'x!%' ESCAPE '!'"), "CEP0101", "no escape"),
    "|| of texts": (pattern(where="a.u || f.u = 'x'"), "CEP0101", "texts cannot be joined yet"),
    "|| as OR": (pattern(where="a.n > 1 || f.n > 2"), "CEP0101", "write `OR`"),
    "&&": (pattern(where="a.n > 1 && f.n > 2"), "CEP0101", "write `AND`"),
    "^": (pattern(where="a.n ^ 2 > 5"), "CEP0102", "`x * x`"),
    "SUPPRESS": (pattern(tail="WITHIN 5 MINUTES SUPPRESS PER u FOR 1 HOUR"), "CEP0101", "not supported yet"),
    "SUPPRESS 2": (pattern(tail="WITHIN 5 MINUTES RETURN a.u AS u SUPPRESS PER u"), "CEP0101", "not supported yet"),
    "LIMIT": (pattern(tail="WITHIN 5 MINUTES RETURN a.u AS u LIMIT 1"), "CEP0101", "not supported yet"),
    "GROUP BY": (pattern(tail="WITHIN 5 MINUTES RETURN a.u AS u GROUP BY a"), "CEP0101", "PARTITION BY joins"),
    "HAVING": (pattern(tail="WITHIN 5 MINUTES HAVING COUNT(*) > 1"), "CEP0101", "stand in WHERE"),
    "ORDER BY": (pattern(tail="WITHIN 5 MINUTES RETURN a.u AS u ORDER BY a.ts"), "CEP0101", "SEQ(A a, B b)"),
    "SELECT": ("SELECT * FROM Login;", "CEP0101", "RETURN"),
    "SELECT in a pattern": (pattern(tail="WITHIN 5 MINUTES SELECT a.u"), "CEP0101", "RETURN"),
    "MATCH_RECOGNIZE": ("SELECT * FROM Login MATCH_RECOGNIZE (PATTERN (A B+));", "CEP0101", "PATTERN name SEQ"),
    "NOT EXISTS": (pattern(where="NOT EXISTS (Login x)"), "CEP0101", "NOT B b"),
    "FOLLOWED BY": ("PATTERN P Login a FOLLOWED BY Login b WITHIN 5 MINUTES;", "CEP0101", "SEQ(A a, B b)"),
    "->": ("PATTERN P Login a -> Login b WITHIN 5 MINUTES;", "CEP0101", "SEQ(A a, B b)"),
    "EVERY": ("PATTERN P EVERY Login a WITHIN 5 MINUTES;", "CEP0101", "there is no `EVERY`"),
    "EVERY SEQ": ("PATTERN P EVERY SEQ(Login a, Login b) WITHIN 5 MINUTES;", "CEP0101", "there is no `EVERY`"),
    "double quotes": (pattern(where='a.u = "bob"'), "CEP0202", "'bob'"),
    "5 min": (pattern(tail="WITHIN 5 min"), "CEP0101", "write `5 MINUTES`"),
    "5m": (pattern(tail="WITHIN 5m"), "CEP0101", "write `5 MINUTES`"),
    "5": (pattern(tail="WITHIN 5"), "CEP0101", "a duration has a unit"),
    "'5 minutes'": (pattern(tail="WITHIN '5 minutes'"), "CEP0101", "without quotes"),
    "INTERVAL": (pattern(tail="WITHIN INTERVAL '5' MINUTE"), "CEP0101", "`5 MINUTES`"),
    "INTERVAL in WHERE": (pattern(where="f.ts - a.ts < INTERVAL '5' MINUTE"), "CEP0101", "`5 MINUTES`"),
    "FOR": (pattern(tail="FOR 5 MINUTES"), "CEP0101", "WITHIN 5 MINUTES"),
    "IS TRUE": (pattern(where="a.ok IS TRUE"), "CEP0101", "a condition by itself"),
    "CAST": (pattern(where="CAST(a.n AS DOUBLE) > 1"), "CEP0101", "no CAST"),
    "PARTITION BY a.u": (pattern(tail="PARTITION BY a.u WITHIN 5 MINUTES"), "CEP0101", "`PARTITION BY u`"),
    "ON": ("PATTERN P SEQ(Login a, Login f) ON a.u = f.u WITHIN 5 MINUTES;", "CEP0101", "stand in WHERE"),
    "a bare attribute": (pattern(where="n > 5"), "CEP0202", "`a.n`"),
    "// comment": ("// comment\n" + pattern(), "CEP0101", "`--`"),
    "# comment": ("# comment\n" + pattern(), "CEP0102", "`--`"),
    "LET": ("LET most = 400;\n" + pattern(), "CEP0101", "not supported yet"),
    "CREATE STREAM": ("CREATE STREAM X (a INT);", "CEP0101", "without `CREATE`"),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_first_finding_says_what_to_write(case: str) -> None:
    text, code, phrase = CASES[case]
    found = [d for d in compile_source(Source("x.cep", STREAM + text)).diagnostics if d.severity is Severity.ERROR]
    assert found[0].code == code, found
    assert phrase in (found[0].hint or ""), found[0].hint
    assert not any("did you mean" in (d.hint or "") for d in found), found


@pytest.mark.parametrize("where", ["a.u == f.u", "a.u != f.u", "TRUE = a.ok", "NOT a.ok"])
def test_what_is_understood_is_no_finding(where: str) -> None:
    assert compile_source(Source("x.cep", STREAM + pattern(where=where))).ok


def test_a_window_without_a_unit_is_one_finding() -> None:
    """That the pattern has no window is then not said as well."""
    found = compile_source(Source("x.cep", STREAM + pattern(tail="WITHIN 5"))).diagnostics
    assert [d.code for d in found] == ["CEP0101"]


@pytest.mark.parametrize(
    "name",
    [
        "limit",
        "every",
        "first",
        "last",
        "suppress",
        "interval",
        "exists",
        "count",
        "run",
        "next",
        "prev",
        "idle",
        "after",
    ],
)
def test_such_words_are_names_like_others(name: str) -> None:
    text = f"STREAM {name} (ts TIMESTAMP, {name} INT) TIMESTAMP BY ts;\n"
    text += f"PATTERN P SEQ({name} {name}, {name} b) WHERE {name}.{name} < b.{name} WITHIN 1 HOUR;"
    assert compile_source(Source("x.cep", text)).ok


def test_a_slip_in_an_operator_of_a_body() -> None:
    found = compile_source(Source("x.cep", STREAM + pattern("SEQ(FRIST(Login a), Login f)"))).diagnostics
    assert [(d.code, d.hint) for d in found] == [("CEP0101", "did you mean `FIRST`?")]
