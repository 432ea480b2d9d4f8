"""The layout for people."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cep.diagnostics import Label
from cep.render import full
from cep.source import Source
from tests.render.findings import SOURCE, TWICE, UNKNOWN, WARNING, finding, report, span

SOURCES = {SOURCE.name: SOURCE}


def drawn(item, **options):
    return full.diagnostic(item, SOURCES, **options)


def expected(text):
    return dedent(text).removeprefix("\n")


def test_a_finding_is_laid_out_as_on_the_design_page():
    source = Source("card_testing.cep", "\n" * 9 + "    AND s1.amnt < 100 AND s2.amout < 100\n  WITHIN 1 HOUR;\n")
    item = finding(
        span("amout", source),
        "unknown attribute `amout` on stream `Trans`",
        hint="did you mean `amnt`?",
        notes=("Trans has ts, acc, amnt",),
    )
    assert full.diagnostic(item, {source.name: source}) == expected("""
        error[CEP0203]: unknown attribute `amout` on stream `Trans`
          --> card_testing.cep:10:30
           |
        10 |     AND s1.amnt < 100 AND s2.amout < 100
           |                              ^^^^^ did you mean `amnt`?
           = note: Trans has ts, acc, amnt
        """)


def test_tabs_and_wide_characters_before_the_span_move_the_caret_by_their_cells():
    lines = drawn(finding("s1.accc")).splitlines()
    assert lines[3] == "6 |     AND '口座' = s1.accc AND"
    assert cell_len(lines[4].split("^")[0]) == cell_len(lines[3].split("s1.accc")[0])
    assert lines[4].endswith("^" * len("s1.accc"))


def test_a_wide_span_is_underlined_over_all_its_cells():
    assert drawn(finding("口座' =")).splitlines()[4].count("^") == cell_len("口座' =")


def test_second_places_are_underlined_with_dashes_in_the_same_excerpt():
    item = finding(
        "amout", "m", hint="h", labels=(Label(span("Trans s2"), "bound here"), Label(span("s2.amout"), "used"))
    )
    assert drawn(item) == expected("""
        error[CEP0203]: m
         --> rules/p.cep:7:8
          |
        4 |   SEQ(Trans s1, Trans s2)
          |                 -------- bound here
        ...
        7 |     s2.amout < 100
          |        ^^^^^ h
          |     -------- used
        """)


def test_a_single_hidden_line_is_shown():
    item = finding("amout", "m", labels=(Label(span("s2.acc"), "here"),))
    assert "6 |     AND '口座'" in drawn(item)


def test_a_span_over_several_lines_has_a_bar_and_other_places_follow():
    assert drawn(TWICE) == expected("""
        error[CEP0205]: stream `Trans` is declared twice
          --> rules/p.cep:9:1
           |
         9 | / STREAM Trans (
        10 | |   ts TIMESTAMP
        11 | | );
           | |__^
          ::: rules/p.cep:1:8
           |
         1 | STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts;
           |        ----- first declared here
        """)


def test_a_span_that_begins_inside_a_line_points_at_its_first_character():
    item = finding("s2.acc\n\tAND '口座'", "m", hint="h")
    assert drawn(item) == expected("""
        error[CEP0203]: m
         --> rules/p.cep:5:18
          |
        5 |     WHERE s1.acc = s2.acc
          |  __________________^
        6 | |     AND '口座' = s1.accc AND
          | |______________^ h
        """)


def test_a_long_span_shows_its_first_and_last_lines():
    source = Source("long.cep", "\n".join(f"line {n}" for n in range(1, 31)))
    text = full.diagnostic(finding(source.span(0, len(source.text))), {source.name: source})
    assert re.findall(r"line \d+", text) == ["line 1", "line 2", "line 3", "line 29", "line 30"]
    assert "\n...  |\n" in text


@pytest.mark.parametrize("before", [0, 5, 300])
@pytest.mark.parametrize("after", [0, 5, 300])
def test_a_long_line_is_cut_around_its_span(before, after):
    source = Source("x.cep", "a" * before + "口BAD口" + "b" * after)
    text = full.diagnostic(finding(span("BAD", source), "m", hint="h"), {source.name: source}, width=80)
    line, carets = text.splitlines()[3:5]
    assert cell_len(line) <= 80
    shown = cell_len(line.split("BAD")[0])
    assert carets == "  |".ljust(shown) + "^^^ h"
    assert line.startswith("1 | ...") == (before == 300)
    assert line.endswith("...") == (after == 300)


def test_the_end_of_the_file_has_one_caret():
    source = Source("x.cep", "PATTERN P")
    assert full.diagnostic(finding(source.span(9, 9), "m", hint="h"), {source.name: source}).endswith(
        "1 | PATTERN P\n  |          ^ h\n"
    )


def test_a_finding_without_text_keeps_its_place_and_its_hint():
    assert full.diagnostic(UNKNOWN, {}) == expected("""
        error[CEP0203]: unknown attribute `amout` on stream `Trans`
         --> rules/p.cep:7:8
          = help: did you mean `amnt`?
          = note: Trans has ts, acc, amnt
        """)


def test_several_findings_are_a_blank_line_apart():
    assert full.render([report(UNKNOWN, WARNING)]).count("\n\n") == 1


def test_without_colour_there_are_no_escape_sequences_and_with_it_the_text_is_the_same():
    reports = [report(UNKNOWN, TWICE, WARNING)]
    plain, coloured = full.render(reports), full.render(reports, color=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace(" \n", "\n") == plain.replace(" \n", "\n")
    assert coloured != plain


@given(st.text(max_size=200), st.integers(0, 200), st.integers(0, 200), st.integers(20, 120))
def test_any_text_and_any_span_can_be_drawn(text, start, length, width):
    source = Source("x.cep", text)
    item = finding(source.span(start, start + length), "m", hint="h", labels=(Label(source.span(0, 1), "l"),))
    lines = full.diagnostic(item, {source.name: source}, width=width).split("\n")
    assert lines[0] == "error[CEP0203]: m"
    assert any("^" in line for line in lines)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", "\n".join(lines))
