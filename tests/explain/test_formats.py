"""Every format can draw every plan, says the same, and is well-formed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import import_module
from xml.etree import ElementTree as ET

import pytest

import cep
from cep.compiler.pipeline import compile_pattern, compile_source
from cep.diagnostics import Diagnostics
from cep.explain import FORMATS
from cep.ir.body import One, Select, Seq
from cep.source import Source
from tests.explain.plans import awkward, card_testing

SVG = "{http://www.w3.org/2000/svg}"


def render(name, *plans):
    return import_module(f"cep.explain.{name}").render(plans)


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_plan_gives_the_same_text(name):
    assert render(name, card_testing(), awkward()) == render(name, card_testing(), awkward())


@pytest.mark.parametrize("name", FORMATS)
def test_no_plans_give_a_well_formed_document(name):
    assert isinstance(render(name), str)


def test_text_names_class_window_key_tree_indexes_triggers_and_cost():
    text = render("text", card_testing())
    for said in (
        "acyclic, free-connex",
        "1 HOUR from the first event",
        "Trans by acc",
        "[s2.ts < l.ts]",
        "keeps ts, acc, amnt",
        "if l.amnt > 400.0",
        "grouped by s2.acc, sorted by s2.ts; used by a new s1 or l",
        "1. finds s2 by s2.acc = l.acc, s2.ts < l.ts, within 1 HOUR (index 1); no dead ends",
        "linear in the events of the window",
    ):
        assert said in text
    assert "IS NULL" not in text, "the tests for NULL that joins imply are no part of the story"


def test_text_says_it_of_a_cyclic_plan_too():
    text = render("text", awkward())
    for said in (
        "cyclic: its joins close a circle",
        "unbounded",
        "all events meet in one bucket",
        "each distinct x = a.x",
        "bag of a, b, c",
        "tries every b (index 0); keep those with a.x <> b.x",
        "finds d by d.x = b.x, b.x < d.y <= a.y (index 1); one is enough",
    ):
        assert said in text


def test_text_fits_a_slide():
    assert max(map(len, render("text", card_testing(), awkward()).splitlines())) <= 100


def test_json_holds_the_keys_of_validate_and_the_plan():
    (pattern,) = json.loads(render("json", card_testing()))["patterns"]
    assert pattern["name"] == "CardTesting"
    assert pattern["window_ms"] == 3_600_000
    assert (pattern["key"], pattern["layout"]) == (card_testing().meaning, card_testing().layout)
    assert pattern["indexes"][1] == {"variable": "s2", "group_by": ["s2.acc"], "sort_by": "s2.ts"}
    step = pattern["triggers"][2]["steps"][0]
    assert step["key"] == ["l.acc"]
    assert step["ranges"] == [{"op": "<", "bound": "l.ts"}]
    assert [child["atom"] for child in pattern["tree"]["children"]] == ["l", None]


def test_svg_is_xml_that_shows_every_name_escaped():
    root = ET.fromstring(render("svg", card_testing(), awkward()))
    shown = [node.text for node in root.iter(f"{SVG}text")]
    assert 'Tri<a>"ngle" & | `x`' in shown
    assert {"l: Trans", "s1: Trans", "s2: Trans", "s2.ts < l.ts"} <= set(shown)


def test_svg_survives_characters_that_xml_forbids():
    ET.fromstring(render("svg", card_testing("a\x00\x1b\ufffe]]>")))


def test_svg_boxes_do_not_overlap():
    root = ET.fromstring(render("svg", card_testing(), awkward()))
    rects = [
        tuple(float(node.get(name)) for name in ("x", "y", "width", "height"))
        for node in root.iter(f"{SVG}rect")
        if "box" in node.get("class", "")
    ]
    assert len(rects) == 7
    for i, (x, y, w, h) in enumerate(rects):
        for u, v, k, g in rects[i + 1 :]:
            assert x + w <= u or u + k <= x or y + h <= v or v + g <= y


def test_svg_stays_inside_its_frame_and_has_dark_colours():
    text = render("svg", card_testing("A pattern with a name that is longer than anything else that is drawn here"))
    root = ET.fromstring(text)
    width, height = float(root.get("width")), float(root.get("height"))
    for node in root.iter(f"{SVG}rect"):
        assert float(node.get("x", 0)) >= 0
        assert float(node.get("x", 0)) + float(node.get("width")) <= width
        assert float(node.get("y", 0)) + float(node.get("height")) <= height
    assert "prefers-color-scheme: dark" in text


def test_mermaid_declares_every_node_it_links_and_escapes():
    text = render("mermaid", card_testing(), awkward())
    declared = set(re.findall(r"^\s+(n\d+)[\[(]", text, re.MULTILINE))
    linked = {name for pair in re.findall(r"(n\d+) ---.*?(n\d+)$", text, re.MULTILINE) for name in pair}
    assert linked <= declared
    assert len(declared) == 7
    for label in re.findall(r'"([^"]*)"', text):
        assert not re.search(r"[<>&`]", label.replace("<br>", ""))


def test_dot_quotes_every_label():
    text = render("dot", awkward())
    assert r"label=\"" not in text
    assert text.count("{") == text.count("}")
    for line in text.splitlines():
        assert len(re.findall(r'(?<!\\)"', line)) % 2 == 0


# --- gaps ------------------------------------------------------------------------------------------------------------

GAPS = """
STREAM A (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts;
STREAM B (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts;
PATTERN P SEQ(A a, NOT B b, A c, NOT B late) PARTITION BY k WITHIN 1 HOUR RETURN a.k AS k;
"""


def selecting(select):
    """A plan with FIRST or LAST of its second step; the body is what the parser will make of it."""
    (pattern,) = compile_source(Source("t.cep", GAPS.replace("NOT B b, A c, NOT B late", "B b, A c"))).patterns
    body = Seq((One("a"), One("b", select), One("c")))
    return compile_pattern(replace(pattern, body=body), Diagnostics())


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_gaps_and_when_a_match_comes(name):
    text = render(name, *cep.compile(GAPS).values())
    for said in ("NOT b", "NOT late", "between neighbours", "of every combination"):
        assert said in text, said
    if name in ("text", "json", "svg"):
        assert "emission" in text
    assert "since" not in text, "the name of a column that nobody wrote"


@pytest.mark.parametrize("select", list(Select))
@pytest.mark.parametrize("name", FORMATS)
def test_what_the_compiler_invents_has_no_name_that_cannot_be_written(name, select):
    text = render(name, selecting(select))
    for hidden in (f"{select.value} b.", "since", f'"{select.value} b"'):
        assert hidden not in text, hidden
    assert f"{select.value} b: no {'earlier' if select is Select.FIRST else 'later'} b" in text


def test_json_says_of_each_gap_who_waits_and_how_it_is_asked():
    (pattern,) = json.loads(render("json", *cep.compile(GAPS).values()))["patterns"]
    assert [leaf["variable"] for leaf in pattern["leaves"]] == ["a", "c"]
    first, last = pattern["gaps"]
    assert (first["variable"], first["asked"], first["held"]) == ("b", "between neighbours", "c")
    assert (first["bounds"], first["keys"]) == (["a.ts < b.ts < c.ts"], ["b.k = c.k"])
    assert first["until"] == "the watermark has reached c.ts"
    assert (last["asked"], last["held"], last["until"]) == (
        "of every combination",
        "a",
        "the watermark has passed a.ts + 1 HOUR",
    )
    assert pattern["guarantees"]["emission"].startswith("when its last event has arrived and the watermark has")
