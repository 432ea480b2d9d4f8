"""Sessions of an editor with a real `cep lsp` process over its pipes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.lsp.client import PATIENCE, ROOT, Client, cursor

STREAM = "STREAM Trans (\n  ts   TIMESTAMP,\n  acc  STRING,\n  amnt DOUBLE\n) TIMESTAMP BY ts WATERMARK 10 SECONDS;\n"
PATTERN = (
    "PATTERN CardTesting\n"
    "  SEQ(Trans s1, Trans l)\n"
    "  WHERE s1.amnt < 100 AND l.amnt > 400\n"
    "  PARTITION BY acc\n"
    "  WITHIN 1 HOUR\n"
    "  RETURN l.acc AS acc;\n"
)
GOOD = STREAM + "\n" + PATTERN
GAPS = (
    STREAM
    + "STREAM Login (ts TIMESTAMP, acc STRING, host STRING) TIMESTAMP BY ts;\n"
    + "PATTERN Gaps\n"
    + "  SEQ(NOT OR(Login no, Login nor), Trans{2,5} few, LAST(Login l),\n"
    + "    OR(Trans x, Login x), RUN(Trans+ r), Login? o)\n"
    + "  WHERE few.amnt > 5 AND COUNT(few) > 2 AND r.amnt > PREV(r.amnt) AND STREAM_OF(x) = 'Trans'\n"
    + "  PARTITION BY acc\n"
    + "  WITHIN 1 HOUR\n"
    + "  RETURN COUNT(DISTINCT few.amnt) AS few, FIRST(r.ts) AS ts, SUM(few.amnt) AS total;\n"
)


def codes(diagnostics):
    return [item["code"] for item in diagnostics]


def test_it_says_what_it_can_and_leaves_when_asked(tmp_path):
    client = Client(tmp_path)
    can = client.initialized["capabilities"]
    offered = ("hoverProvider", "definitionProvider", "documentSymbolProvider", "documentFormattingProvider")
    assert all(can[name] for name in offered)
    assert can["renameProvider"]
    assert can["completionProvider"]["triggerCharacters"] == [".", "(", ","]
    assert client.initialized["serverInfo"]["name"] == "cep"
    assert client.leave() == 0
    assert client.errors == []


def test_it_ends_when_the_editor_is_gone(tmp_path):
    client = Client(tmp_path)
    client.process.stdin.close()
    assert client.process.wait(PATIENCE) == 0
    client.kill()


def test_what_is_missing_is_said():
    """Without pygls the command names the extra to install."""
    code = "import sys; sys.modules['pygls'] = sys.modules['lsprotocol'] = None; import cep.cli; cep.cli.main(['lsp'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "pip install 'cep-engine[lsp]'" in done.stderr


# --- diagnostics ---


def test_findings_come_on_opening_and_go_with_the_mistake(editor):
    found = editor.open("p.cep", GOOD.replace("s1.amnt", "s1.amout"))
    assert codes(found) == ["CEP0203"]
    assert found[0]["message"] == (
        "unknown attribute `amout` on stream `Trans`\ndid you mean `amnt`?\nnote: Trans has ts, acc, amnt"
    )
    assert found[0]["range"] == {"start": {"line": 8, "character": 11}, "end": {"line": 8, "character": 16}}
    assert found[0]["severity"] == 1
    assert editor.change("p.cep", GOOD) == []
    assert codes(editor.change("p.cep", GOOD.replace("SEQ(", "SEQ(("))) == ["CEP0101"]


def test_all_findings_of_a_file_come_at_once(editor):
    text = (
        STREAM
        + "PATTERN P SEQ(Trans a, Trnas b) WHERE a.x = 1 WITHIN 1 HOUR;\n"
        + "PATTERN Q SEQ(Trans t, Trans u) WHERE t.acc > 1;\n"
        + "PATTERN R Trans t WHERE UNBOUNDED;\n"
    )
    assert set(codes(editor.open("p.cep", text))) == {"CEP0101", "CEP0203", "CEP0302", "CEP0401"}
    assert "CEP0201" in codes(editor.change("p.cep", text.replace("WHERE UNBOUNDED", "UNBOUNDED")))


def test_a_warning_about_a_whole_pattern_underlines_its_name(editor):
    text = STREAM + "PATTERN P SEQ(Trans a, Trans b)\n  WHERE a.amnt < b.amnt\n  WITHIN 1 HOUR;\n"
    (found,) = editor.open("p.cep", text)
    assert (found["code"], found["severity"]) == ("CEP0503", 2)
    assert found["range"] == {"start": {"line": 5, "character": 8}, "end": {"line": 5, "character": 9}}


def test_two_places_are_linked(editor):
    (found,) = [item for item in editor.open("p.cep", GOOD + STREAM) if item["code"] == "CEP0205"]
    (related,) = found["relatedInformation"]
    assert related["location"]["uri"] == editor.uri("p.cep")
    assert related["location"]["range"]["start"] == {"line": 0, "character": 7}


def test_findings_in_an_imported_file_are_shown_in_that_file(editor, tmp_path):
    (tmp_path / "streams.cep").write_text(STREAM.replace("DOUBLE", "DUOBLE"), encoding="utf-8")
    editor.open("p.cep", "IMPORT 'streams.cep';\n" + PATTERN)
    editor.until(lambda: editor.uri("streams.cep") in editor.published)
    (found,) = editor.published[editor.uri("streams.cep")]["diagnostics"]
    assert found["code"] == "CEP0211"
    editor.close("p.cep")
    editor.until(lambda: not editor.published[editor.uri("streams.cep")]["diagnostics"])


def test_a_change_that_is_not_saved_is_seen_by_the_files_that_import_it(editor, tmp_path):
    (tmp_path / "streams.cep").write_text(STREAM, encoding="utf-8")
    assert editor.open("p.cep", "IMPORT 'streams.cep';\n" + PATTERN) == []
    assert editor.open("streams.cep", STREAM) == []
    editor.change("streams.cep", STREAM.replace("amnt", "amount"))
    editor.until(lambda: editor.published[editor.uri("p.cep")]["diagnostics"])
    found = editor.published[editor.uri("p.cep")]["diagnostics"]
    assert codes(found) == ["CEP0203", "CEP0203"]
    editor.change("streams.cep", STREAM)
    editor.until(lambda: not editor.published[editor.uri("p.cep")]["diagnostics"])


def test_a_missing_import_is_found_again_when_the_file_appears(editor, tmp_path):
    assert "CEP0001" in codes(editor.open("p.cep", "IMPORT 'streams.cep';\n" + PATTERN))
    (tmp_path / "streams.cep").write_text(STREAM, encoding="utf-8")
    changes = [{"uri": editor.uri("streams.cep"), "type": 1}]
    editor.tell("workspace/didChangeWatchedFiles", changes=changes)
    editor.until(lambda: not editor.published[editor.uri("p.cep")]["diagnostics"])


def test_saving_compiles_again(editor, tmp_path):
    (tmp_path / "streams.cep").write_text("STREAM Other (x INT);", encoding="utf-8")
    assert codes(editor.open("p.cep", "IMPORT 'streams.cep';\n" + PATTERN))
    (tmp_path / "streams.cep").write_text(STREAM, encoding="utf-8")
    editor.tell("textDocument/didSave", textDocument={"uri": editor.uri("p.cep")})
    editor.until(lambda: not editor.published[editor.uri("p.cep")]["diagnostics"])


def test_a_document_that_is_in_no_file_yet(editor):
    assert editor.open("untitled:Untitled-1", GOOD) == []


# --- positions ---


def test_positions_count_utf16_units(editor):
    text, where = cursor(STREAM + "PATTERN P Trans t /* 😀 é */ WHERE t.am|out > 1 UNBOUNDED;")
    (found,) = editor.open("p.cep", text)
    line = text.splitlines()[5]
    units = len(line[: line.index("amout")].encode("utf-16-le")) // 2
    assert found["range"]["start"]["character"] == units
    assert found["range"]["end"]["character"] == units + 5
    editor.change("p.cep", text.replace("amout", "amnt"))
    assert editor.at("hover", "p.cep", where[0], where[1])["range"]["start"]["character"] == units


def test_windows_and_old_mac_line_ends(editor):
    for number, end in enumerate(("\r\n", "\r")):
        found = editor.open(f"p{number}.cep", GOOD.replace("s1.amnt", "s1.amout").replace("\n", end))
        assert found[0]["range"]["start"] == {"line": 8, "character": 11}


def test_a_line_separator_inside_text_is_no_line_end(editor):
    text = STREAM + "PATTERN P Trans t WHERE t.acc = 'a\u2028b\x0c' AND t.amout > 1 UNBOUNDED;"
    (found,) = editor.open("p.cep", text)
    assert found["range"]["start"]["line"] == 5


# --- hover ---


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        (GOOD.replace("s1.amnt", "s1.am|nt"), ["s1.amnt DOUBLE", "attribute of `Trans`"]),
        (GOOD.replace("s1.amnt", "s|1.amnt"), ["**s1**: one event of `Trans`", "acc  STRING"]),
        (GOOD.replace("SEQ(Trans", "SEQ(Tr|ans"), ["STREAM Trans (", ") TIMESTAMP BY ts WATERMARK 10 SECONDS;"]),
        (GOOD.replace("PATTERN Card", "PATTERN Ca|rd"), ["acyclic, free-connex", "| update | O(1)", "| space |"]),
        (GOOD.replace("WITHIN", "WI|THIN"), ["`WITHIN 1 HOUR`"]),
        (GOOD.replace("BY acc", "BY a|cc"), ["acc STRING"]),
        (GOOD.replace("DOUBLE", "DOU|BLE"), ["**DOUBLE**"]),
        (GOOD.replace("BY ts", "BY t|s"), ["ts TIMESTAMP", "the event time"]),
        (GOOD.replace("l.amnt >", "ab|s(l.amnt) >"), ["ABS(x)", "INT or DOUBLE"]),
        (GOOD.replace("1 HOUR", "1 HO|UR"), ["unit of durations"]),
        (GAPS.replace("Login no,", "Login n|o,"), ["**no**: no event of `Login`", "host STRING"]),
        (GAPS.replace("Login nor", "Login no|r"), ["**nor**: no event of `Login`"]),
        (GAPS.replace("COUNT(few)", "COUNT(f|ew)"), ["**few**: all events of `Trans` that fit, 2 to 5"]),
        (GAPS.replace("few.amnt > 5", "fe|w.amnt > 5"), ["**few**: all events of `Trans` that fit, 2 to 5"]),
        (GAPS.replace("Login l)", "Login l|)"), ["**l**: the last event of `Login` that fits"]),
        (
            GAPS.replace("OF(x)", "OF(x|)"),
            ["**x**: one event of `Trans`, or one event of `Login`", "amnt DOUBLE", "host"],
        ),
        (GAPS.replace("PREV(r.", "PREV(|r."), ["**r**: the unbroken events of `Trans` that fit, at least 1"]),
        (GAPS.replace("Login? o", "Login? |o"), ["**o**: one event of `Login`, or none that fits"]),
        (GAPS.replace("LAST(", "LA|ST("), ["`LAST(B b)` in a body"]),
        (GAPS.replace("RUN(", "R|UN("), ["an unbroken set"]),
        (GAPS.replace("FIRST(r", "FI|RST(r"), ["FIRST(b.x)", "earliest event of a set. Of any value; gives the same"]),
        (GAPS.replace("COUNT(few)", "CO|UNT(few)"), ["COUNT(b)", "how many events", "gives INT"]),
        (GAPS.replace("PREV(", "PR|EV("), ["PREV(b.x)", "in a run"]),
        (GAPS.replace("STREAM_OF(", "STREAM_|OF("), ["STREAM_OF(x)", "the name of the stream"]),
        (GAPS.replace("SUM(", "S|UM("), ["SUM(b.x)", "INT or DOUBLE or DURATION"]),
        ("STREAM S (t TIMESTAMP) TIMESTAMP BY t ID|LE AFTER 1 MINUTE;", ["IDLE AFTER 1 MINUTE"]),
    ],
)
def test_hover(editor, marked, words):
    text, where = cursor(marked)
    editor.open("p.cep", text)
    content = editor.at("hover", "p.cep", *where)["contents"]
    assert content["kind"] == "markdown"
    for word in words:
        assert word in content["value"]


def test_hover_says_nothing_where_there_is_nothing_to_say(editor):
    text, where = cursor(GOOD.replace("amnt < 100", "amnt <| 100"))
    editor.open("p.cep", text)
    assert editor.at("hover", "p.cep", *where) is None
    assert editor.at("hover", "p.cep", 999, 999) is None


def test_hover_over_a_pattern_with_errors_says_so(editor):
    text, where = cursor(GOOD.replace("CardTesting", "Card|Testing").replace("s1.amnt", "s1.x"))
    editor.open("p.cep", text)
    assert "has errors" in editor.at("hover", "p.cep", *where)["contents"]["value"]


# --- completion ---


def offered(editor, marked):
    text, where = cursor(marked)
    editor.open("p.cep", text)
    return {item["label"]: item for item in editor.at("completion", "p.cep", *where)["items"]}


@pytest.mark.parametrize(
    ("marked", "expected", "unexpected"),
    [
        ("|", {"STREAM", "PATTERN", "IMPORT"}, {"WHERE"}),
        (STREAM + "PAT|", {"PATTERN"}, {"Trans"}),
        (STREAM + "PATTERN P |", {"SEQ", "AND", "Trans"}, {"WHERE"}),
        (STREAM + "PATTERN P SEQ(|", {"Trans"}, {"WHERE"}),
        (STREAM + "PATTERN P SEQ(Trans a, |", {"Trans"}, {"a"}),
        (STREAM + "PATTERN P SEQ(Trans a, Tr|)", {"Trans"}, set()),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) |", {"WHERE", "PARTITION BY", "WITHIN", "UNBOUNDED"}, {"Trans"}),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) WHERE |", {"a", "b", "COALESCE", "NOT"}, {"ts"}),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) WHERE a.|", {"ts", "acc", "amnt"}, {"a", "WHERE"}),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) WHERE a.am| < 3 AND b.acc = 'x' WITHIN 1 HOUR;", {"amnt"}, {"a"}),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) WHERE a.amnt |", {"AND", "IN", "WITHIN"}, {"a"}),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) PARTITION BY |", {"acc", "amnt"}, {"a"}),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) WITHIN 5 |", {"MINUTES", "HOURS"}, {"RETURN"}),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) WITHIN 5 HOURS |", {"RETURN"}, {"WHERE", "UNBOUNDED"}),
        (STREAM + "PATTERN P SEQ(Trans a, Trans b) WITHIN 5 HOURS RETURN |", {"DISTINCT", "a", "b"}, {"WHERE"}),
        (STREAM + "PATTERN P Trans a UNBOUNDED RETURN a.acc |", {"AS"}, {"a"}),
        ("STREAM S (x |", {"INT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP"}, {"STREAM"}),
        ("STREAM S (x INT, y TIMESTAMP) |", {"TIMESTAMP BY", "WATERMARK"}, {"INT"}),
        ("STREAM S (x INT, y TIMESTAMP) TIMESTAMP BY |;", {"y"}, {"x"}),
        ("STREAM S (x INT, y TIMESTAMP) TIMESTAMP BY y |;", {"MAX AHEAD", "ORDER BY"}, {"x"}),
        ("STREAM S (x INT, y TIMESTAMP) TIMESTAMP BY y ORDER BY |;", {"x"}, {"WATERMARK"}),
        ("STREAM S (x INT, y TIMESTAMP) TIMESTAMP BY y MAX |;", {"AHEAD"}, {"WATERMARK"}),
        ("STREAM S (x INT, y TIMESTAMP) TIMESTAMP BY y MAX AHEAD |;", set(), {"WATERMARK"}),
        ("STREAM S (x INT, y TIMESTAMP |", {"EPOCH", "FORMAT"}, {"INT"}),
        ("STREAM S (x INT |", set(), {"EPOCH"}),
        ("STREAM S (x INT, y TIMESTAMP EPOCH |", {"SECONDS", "NANOSECONDS"}, {"INT", "DAYS"}),
        ("STREAM S (x INT, y TIMESTAMP) TIMESTAMP BY y |;", {"IDLE AFTER"}, {"x"}),
        ("STREAM S (x INT, y TIMESTAMP) TIMESTAMP BY y IDLE |;", {"AFTER"}, {"WATERMARK"}),
        (STREAM + "PATTERN P SEQ(|", {"OR", "NOT", "FIRST", "LAST", "NEXT", "RUN"}, {"WHERE"}),
        (STREAM + "PATTERN P SEQ(Trans a, NOT |", {"Trans", "OR"}, {"a"}),
        (STREAM + "PATTERN P SEQ(RUN(Trans{2,} r), Trans b) |", {"WHERE"}, {"Trans"}),
        (STREAM + "PATTERN P SEQ(Trans{2,5} f, Trans b) WHERE |", {"f", "b", "COUNT", "PREV", "STREAM_OF"}, {"ts"}),
        (STREAM + "PATTERN P SEQ(Trans{2,5} f, Trans b) WHERE COUNT(|", {"f", "DISTINCT"}, {"ts"}),
        (STREAM + "PATTERN P SEQ(Trans{2,5} f, Trans b) WHERE SUM(f.|", {"amnt"}, {"f"}),
        (GAPS.replace("STREAM_OF(x) =", "x.| ="), {"ts", "acc"}, {"amnt", "host"}),
        (STREAM + "-- a.|", set(), {"STREAM"}),
        (STREAM + "PATTERN P Trans a WHERE a.acc = 'a.|' UNBOUNDED;", set(), {"ts"}),
    ],
)
def test_completion(editor, marked, expected, unexpected):
    labels = set(offered(editor, marked))
    assert expected <= labels
    assert not unexpected & labels


def test_completion_replaces_what_has_been_typed(editor):
    marked = STREAM + "PATTERN P SEQ(Trans a, Trans b) WHERE a.am|"
    item = offered(editor, marked)["amnt"]
    assert item["textEdit"] == {
        "range": {"start": {"line": 5, "character": 40}, "end": {"line": 5, "character": 42}},
        "newText": "amnt",
    }
    assert item["detail"] == "DOUBLE of Trans"


def test_completion_knows_imported_streams_and_quotes_odd_names(editor, tmp_path):
    (tmp_path / "s.cep").write_text('STREAM "größe" ("to" INT, "a b" STRING);', encoding="utf-8")
    item = offered(editor, "IMPORT 's.cep';\nPATTERN P |")["größe"]
    assert item["textEdit"]["newText"] == '"größe"'
    assert set(offered(editor, "IMPORT 's.cep';\nPATTERN P \"größe\" g WHERE g.|")) == {"to", "a b"}


def test_completion_works_above_another_statement(editor):
    assert "amnt" in offered(editor, STREAM + "PATTERN P Trans a WHERE a.|\n\n" + PATTERN)


# --- definition, symbols, formatting, fixes ---


@pytest.mark.parametrize(
    ("marked", "line", "character"),
    [
        (GOOD.replace("s1.amnt", "s1.am|nt"), 3, 2),
        (GOOD.replace("s1.amnt", "s|1.amnt"), 7, 12),
        (GOOD.replace("SEQ(Trans", "SEQ(Tr|ans"), 0, 7),
        (GOOD.replace("BY acc", "BY ac|c"), 2, 2),
        (GOOD.replace("BY ts", "BY ts|"), 1, 2),
    ],
)
def test_definition(editor, marked, line, character):
    text, where = cursor(marked)
    editor.open("p.cep", text)
    (found,) = editor.at("definition", "p.cep", *where)
    assert found["uri"] == editor.uri("p.cep")
    assert found["range"]["start"] == {"line": line, "character": character}


def test_definition_leads_into_imported_files(editor, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/streams.cep").write_text("-- here\n" + STREAM, encoding="utf-8")
    text = "IMPORT 'shared/streams.cep';\n" + PATTERN
    editor.open("p.cep", text)
    target = editor.uri("shared/streams.cep")
    (file,) = editor.at("definition", "p.cep", 0, 12)
    assert (file["uri"], file["range"]["start"]["line"]) == (target, 0)
    (stream,) = editor.at("definition", "p.cep", 2, 8)
    assert (stream["uri"], stream["range"]["start"]) == (target, {"line": 1, "character": 7})


def test_symbols(editor):
    editor.open("p.cep", GOOD)
    stream, pattern = editor.ask("textDocument/documentSymbol", textDocument={"uri": editor.uri("p.cep")})
    assert (stream["name"], [child["name"] for child in stream["children"]]) == ("Trans", ["ts", "acc", "amnt"])
    assert (pattern["name"], [child["name"] for child in pattern["children"]]) == ("CardTesting", ["s1", "l"])
    assert pattern["selectionRange"]["start"] == {"line": 6, "character": 8}


def test_symbols_say_what_a_variable_stands_for(editor):
    editor.open("p.cep", GAPS)
    *_, pattern = editor.ask("textDocument/documentSymbol", textDocument={"uri": editor.uri("p.cep")})
    assert [(child["name"], child["detail"]) for child in pattern["children"]] == [
        ("no", "NOT Login"),
        ("nor", "NOT Login"),
        ("few", "Trans{2,5}"),
        ("l", "LAST Login"),
        ("x", "Trans"),
        ("x", "Login"),
        ("r", "RUN Trans+"),
        ("o", "Login?"),
    ]


def test_a_name_of_several_alternatives_is_bound_in_several_places(editor):
    text, where = cursor(GAPS.replace("OF(x)", "OF(|x)"))
    editor.open("p.cep", text)
    assert len(editor.at("definition", "p.cep", *where)) == 2


# --- rename ---


def renamed(editor, marked, name):
    """The text after renaming what is at the cursor."""
    text, where = cursor(marked)
    editor.open("p.cep", text)
    assert editor.at("prepareRename", "p.cep", *where) is not None
    edits = editor.at("rename", "p.cep", *where, newName=name)["changes"][editor.uri("p.cep")]
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: -edit["range"]["start"]["character"]):
        start, end = edit["range"]["start"], edit["range"]["end"]
        line = lines[start["line"]]
        lines[start["line"]] = line[: start["character"]] + edit["newText"] + line[end["character"] :]
    return "\n".join(lines)


def test_a_variable_is_renamed_everywhere_in_its_pattern_and_nothing_else_is(editor):
    two = GAPS + GAPS.partition("PATTERN")[1] + GAPS.partition("PATTERN")[2].replace("Gaps", "Other")
    after = renamed(editor, two.replace("Trans{2,5} few", "Trans{2,5} |few", 1), "some")
    first, _, second = after.partition("PATTERN Other")
    assert "Trans{2,5} some" in first
    assert "WHERE some.amnt > 5 AND COUNT(some) > 2" in first
    assert "RETURN COUNT(DISTINCT some.amnt) AS few, FIRST(r.ts) AS ts, SUM(some.amnt) AS total" in first
    assert second == two.partition("PATTERN Other")[2]


def test_a_name_that_alternatives_share_is_renamed_in_all_of_them(editor):
    after = renamed(editor, GAPS.replace("OF(x)", "OF(x|)"), "to be")
    assert 'OR(Trans "to be", Login "to be")' in after
    assert 'STREAM_OF("to be")' in after


@pytest.mark.parametrize(
    "marked",
    [GOOD.replace("SEQ(Trans", "SEQ(Tr|ans"), GOOD.replace("s1.amnt", "s1.am|nt"), GOOD.replace("AS acc", "AS a|cc")],
)
def test_only_variables_are_renamed(editor, marked):
    text, where = cursor(marked)
    editor.open("p.cep", text)
    assert editor.at("prepareRename", "p.cep", *where) is None


@pytest.mark.parametrize(("name", "why"), [("l", "already"), ("  ", "not empty"), ("a\nb", "one line")])
def test_a_name_that_cannot_be_given_is_refused_with_the_reason(editor, name, why):
    text, where = cursor(GOOD.replace("s1.amnt", "s|1.amnt"))
    editor.open("p.cep", text)
    with pytest.raises(AssertionError, match=why):
        editor.at("rename", "p.cep", *where, newName=name)


def formatted(editor, name):
    options = {"tabSize": 2, "insertSpaces": True}
    return editor.ask("textDocument/formatting", textDocument={"uri": editor.uri(name)}, options=options)


def test_formatting_is_that_of_cep_fmt(editor):
    editor.open("p.cep", GOOD.replace("\n  ", "\n").replace("WHERE", "where"))
    (edit,) = formatted(editor, "p.cep")
    assert edit["newText"] == GOOD
    assert edit["range"]["start"] == {"line": 0, "character": 0}
    assert edit["range"]["end"] == {"line": 12, "character": 0}
    editor.change("p.cep", GOOD)
    assert formatted(editor, "p.cep") is None


def test_a_broken_file_is_not_formatted(editor):
    editor.open("p.cep", GOOD.replace("WHERE", "WHERE WHERE"))
    assert formatted(editor, "p.cep") is None


def test_a_quick_fix_for_a_slip(editor):
    (found,) = editor.open("p.cep", GOOD.replace("s1.amnt", "s1.amout"))
    (action,) = editor.ask(
        "textDocument/codeAction",
        textDocument={"uri": editor.uri("p.cep")},
        range=found["range"],
        context={"diagnostics": [found]},
    )
    assert action["title"] == "Change to `amnt`"
    (edit,) = action["edit"]["changes"][editor.uri("p.cep")]
    assert (edit["newText"], edit["range"]) == ("amnt", found["range"])


# --- it never dies ---


def test_every_prefix_of_a_file_is_survived(editor):
    """Typing a file from nothing, with a question at every step: nothing fails and the last state is right."""
    editor.open("p.cep", "")
    for length in range(0, len(GOOD), 3):
        text = GOOD[:length]
        editor.change("p.cep", text, wait=False)
        line = text.count("\n")
        character = length - (text.rfind("\n") + 1)
        for method in ("hover", "completion", "definition"):
            editor.at(method, "p.cep", line, character)
        editor.ask("textDocument/documentSymbol", textDocument={"uri": editor.uri("p.cep")})
        formatted(editor, "p.cep")
    assert editor.change("p.cep", GOOD) == []
    assert not [notice for notice in editor.notices if notice["method"] == "window/showMessage"]


@pytest.mark.parametrize(
    "text",
    [
        "\x00\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        "IMPORT '\x00.cep';",
        "IMPORT 'p.cep';",
        "PATTERN P " + "SEQ(" * 500,
        "'",
        '"',
        "/*",
        "PATTERN PATTERN PATTERN",
        "STREAM",
        ";;;;",
        "PATTERN P a.",
        "PATTERN P SEQ(A a) WHERE .",
    ],
)
def test_odd_texts_are_survived(editor, text):
    editor.open("p.cep", text)
    last = text.rpartition("\n")[2]
    for character in (0, len(last) // 2, len(last)):
        for method in ("hover", "completion", "definition"):
            editor.at(method, "p.cep", 0, character)
    assert editor.change("p.cep", GOOD) == []
