"""What the documentation shows is true: patterns compile, events give the matches, excerpts are the grammar's.

An HTML comment in the line before a fenced block says what to do with it, several directives parted by `;`:

* (nothing): a `cep` block is a whole file; it compiles without a finding.
* `preamble: NAME`: the same, and later blocks of the page can stand on it;
* `with: NAME`: the block follows that preamble;
* `warns: CODE, ...` / `error: CODE, ...`: these findings and no others are expected;
* `conditions: STREAM VAR, ...`: each line is the WHERE of a pattern over these variables; it has no error;
* `values: STREAM VAR, ...`: each line is an expression in its RETURN, without an error;
* `events` and `matches` on `jsonl` blocks: the last `cep` block over these events gives these matches;
  `events: arrival order` keeps the order of the lines, so that events can be late.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cep.compiler.pipeline import compile_source
from cep.compiler.shared.functions import AGGREGATES, FUNCTIONS
from cep.diagnostics import Severity
from cep.source import Source
from runtime.testing import compare, load_case, run_case

ROOT = Path(__file__).parents[2]
PAGES = ("language", "semantics", "migrating", "limits")
BLOCK = re.compile(
    r"^(?:<!-- (?P<directives>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass
class Block:
    page: str
    line: int
    language: str
    text: str
    directives: dict[str, str] = field(default_factory=dict)
    preamble: str = ""

    def __str__(self):
        return f"{self.page}:{self.line}"

    @property
    def whole(self):
        return f"{self.preamble}\n{self.text}"

    def codes(self, name):
        return sorted(code.strip() for code in self.directives.get(name, "").split(",") if code.strip())


def page(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def blocks(name):
    text, preambles, found = page(name), {}, []
    for match in BLOCK.finditer(text):
        pairs = [part.partition(":") for part in (match["directives"] or "").split(";") if part.strip()]
        directives = {key.strip(): value.strip() for key, _, value in pairs}
        block = Block(name, text.count("\n", 0, match.start()) + 1, match["language"], match["text"], directives)
        if "with" in directives:
            block.preamble = preambles[directives["with"]]
        if "preamble" in directives:
            preambles[directives["preamble"]] = block.text
        found.append(block)
    return found


def all_blocks(language):
    return [block for name in PAGES for block in blocks(name) if block.language == language]


def findings(text):
    return compile_source(Source("page.cep", text)).diagnostics


def lines(block):
    return [line.partition(" -- ")[0].strip() for line in block.text.splitlines() if line.partition("--")[0].strip()]


CEP = all_blocks("cep")
PARTS = [block for block in CEP if block.directives.keys() & {"conditions", "values"}]


def ignored(item, block):
    """A preamble declares more streams than each block uses; some things are judged in full and do not run yet."""
    return (item.code == "CEP0212" and bool(block.preamble)) or item.code == "CEP0901"


@pytest.mark.parametrize("block", [block for block in CEP if block not in PARTS], ids=str)
def test_the_pattern_compiles_with_the_findings_that_the_page_names(block):
    found = findings(block.whole)
    for severity, directive in ((Severity.ERROR, "error"), (Severity.WARNING, "warns")):
        codes = sorted({item.code for item in found if item.severity is severity and not ignored(item, block)})
        assert codes == block.codes(directive), [(item.code, item.message) for item in found]


@pytest.mark.parametrize("block", PARTS, ids=str)
def test_each_line_of_a_fragment_has_the_right_type(block):
    for line in lines(block):
        if "conditions" in block.directives:
            pattern = f"PATTERN P AND({block.directives['conditions']}) WHERE {line} WITHIN 1 HOUR;"
        else:
            pattern = f"PATTERN P AND({block.directives['values']}) WITHIN 1 HOUR RETURN {line} AS v;"
        errors = [item for item in findings(f"{block.preamble}\n{pattern}") if item.severity is Severity.ERROR]
        assert not errors, f"{line}: {errors}"


def cases():
    """(pattern, events, matches) for each run that a page shows."""
    found = []
    for name in PAGES:
        pattern = events = None
        for block in blocks(name):
            if block.language == "cep" and "PATTERN" in block.text and "error" not in block.directives:
                pattern = block
            elif "events" in block.directives:
                events = block
            elif "matches" in block.directives:
                found.append((pattern, events, block))
    return found


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case[2]))
def test_the_events_give_the_matches(case, tmp_path):
    pattern, events, matches = case
    (tmp_path / "pattern.cep").write_text(pattern.whole, encoding="utf-8")
    (tmp_path / "events.jsonl").write_text(events.text, encoding="utf-8")
    (tmp_path / "expected.jsonl").write_text(matches.text, encoding="utf-8")
    loaded = load_case(tmp_path)
    outcome = run_case(loaded, batch_size=1, arrival_order=bool(events.directives["events"]))
    difference = compare(loaded, outcome)
    assert not difference, difference


def test_the_semantics_are_shown_by_running_them():
    assert sum(matches.page == "semantics" for _, _, matches in cases()) >= 12


@pytest.mark.parametrize("block", all_blocks("antlr"), ids=str)
def test_the_grammar_excerpt_is_in_the_grammar(block):
    grammar = " ".join("".join(path.read_text(encoding="utf-8") for path in (ROOT / "grammar").glob("*.g4")).split())
    for rule in re.split(r"\n(?=\w+\s*:|\w+\n)", block.text.strip()):
        assert " ".join(rule.split()) in grammar, rule


def test_every_parser_rule_is_shown_in_the_reference():
    grammar = (ROOT / "grammar" / "CepParser.g4").read_text(encoding="utf-8")
    rules = set(re.findall(r"^(\w+)(?:\s*:|\n)", grammar, re.MULTILINE)) - {"options"}
    shown = "\n".join(block.text for block in blocks("language") if block.language == "antlr")
    assert rules - set(re.findall(r"^(\w+)(?:\s*:|\n)", shown, re.MULTILINE)) == set()


def test_every_function_and_reserved_word_is_in_the_reference():
    text = page("language")
    lexer = (ROOT / "grammar" / "CepLexer.g4").read_text(encoding="utf-8")
    reserved = lexer.partition("// --- reserved")[2].partition("// --- not reserved")[0]
    words = re.findall(r"^([A-Z]+)\s*:", reserved, re.MULTILINE)
    listed = text.partition("## Reserved words")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"`([A-Z]+)`", listed.partition("Not reserved")[0])) == sorted(words)
    for name in (*FUNCTIONS, *AGGREGATES, "PREV", "STREAM_OF"):
        assert f"`{name}(" in text


@pytest.mark.parametrize("name", PAGES)
def test_links_between_pages_lead_somewhere(name):
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page(name)):
        path = (ROOT / "docs" / target) if target else ROOT / "docs" / f"{name}.md"
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in slugs, f"{target}#{anchor}: {slugs}"
