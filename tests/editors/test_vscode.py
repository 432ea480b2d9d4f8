"""What editors know of the language is what the language is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cep.compiler.shared.functions import EVERY_FUNCTION
from cep.diagnostics import Diagnostics
from cep.ir.types import COLUMN_TYPES
from cep.lsp.keywords import KEYWORD_HELP, TYPE_HELP
from cep.source import Source
from cep.syntax._generated.CepLexer import CepLexer
from cep.syntax.parse import parse

ROOT = Path(__file__).parents[2]
VSCODE = ROOT / "editors" / "vscode"
WORDS = CepLexer.symbolicNames[CepLexer.STREAM : CepLexer.DAY + 1]
UNITS = CepLexer.symbolicNames[CepLexer.MICROSECOND : CepLexer.DAY + 1]
SPELLINGS = [*WORDS, *(f"{unit}S" for unit in UNITS)]


def read(name):
    return json.loads((VSCODE / name).read_text(encoding="utf-8"))


def scopes(line):
    """The scope of each piece of a line, as an editor finds them: at each place the first pattern that matches."""
    patterns = [
        (rule, re.compile(rule.get("match") or rule["begin"]))
        for rule in read("syntaxes/cep.tmLanguage.json")["patterns"]
    ]
    found = {}
    at = 0
    while at < len(line):
        hits = [
            (hit.start(), order, rule, hit)
            for order, (rule, regex) in enumerate(patterns)
            if (hit := regex.search(line, at))
        ]
        if not hits:
            break
        _, _, rule, hit = min(hits, key=lambda item: item[:2])
        end = hit.end()
        if "begin" in rule:
            close = re.compile(rule["end"]).search(line, end)
            end = close.end() if close else len(line)
        for group, what in rule.get("captures", {}).items():
            found[hit.group(int(group))] = what["name"]
        if "name" in rule:
            found[line[hit.start() : end]] = rule["name"]
        at = max(end, at + 1)
    return found


def test_the_committed_grammar_is_what_the_lexer_gives():
    done = subprocess.run(
        [sys.executable, "editors/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + "run `make editors`"


@pytest.mark.parametrize("word", SPELLINGS)
@pytest.mark.parametrize("change", [str.upper, str.lower, str.title])
def test_every_keyword_is_coloured(word, change):
    written = change(word)
    scope = scopes(f"( {written} ;")[written]  # before a bracket MAX is a function
    assert scope.startswith(("keyword.", "constant.language", "storage.type"))


@pytest.mark.parametrize("word", SPELLINGS)
def test_a_keyword_inside_a_name_or_after_a_dot_is_not(word):
    assert scopes(f"x{word}y")[f"x{word}y"] == "variable.other.cep"
    assert scopes(f"a.{word} <")[word] == "variable.other.property.cep"


@pytest.mark.parametrize("name", EVERY_FUNCTION)
def test_every_function_is_coloured_where_it_is_called(name):
    assert scopes(f"{name}(a.x)")[name] == "support.function.cep"


def test_operators_and_quantifiers_of_a_body_are_coloured():
    found = scopes("SEQ(run(Login{5,} f), NEXT (A{2} a, B+ b), next NEXT) RETURN COUNT(f) AS run")
    assert found["run"] == "variable.other.cep"  # the last: a name
    assert found["NEXT"] == "variable.other.cep"
    assert found["{5,}"] == found["{2}"] == "keyword.operator.quantifier.cep"
    assert (found["+"], found["COUNT"]) == ("keyword.operator.cep", "support.function.cep")
    assert scopes("SEQ(Run (A+ a))")["Run"] == scopes("NEXT(A a, B b)")["NEXT"] == "keyword.operator.word.cep"


def test_pygments_colours_the_same_words():
    from pygments import lex

    from cep.highlight import CepLexer as Lexer

    text = "PATTERN P SEQ(RUN(A{2,} a), FIRST(B b)) WHERE PREV(a.x) < MAX(a.x) AND next.run = 5 IDLE AFTER"
    found = {part: str(kind) for kind, part in lex(text, Lexer())}
    assert (found["RUN"], found["IDLE"], found["AFTER"]) == ("Token.Keyword",) * 3
    assert (found["FIRST"], found["PREV"], found["MAX"]) == ("Token.Name.Function",) * 3
    assert (found["next"], found["run"]) == ("Token.Name", "Token.Name.Attribute")


@pytest.mark.parametrize("type_", COLUMN_TYPES)
def test_every_type_is_coloured(type_):
    assert scopes(f"  x {type_},")[str(type_)] == "storage.type.cep"


def test_a_line_in_detail():
    line = "PATTERN P SEQ(A a) WHERE a.end < 1.5 * ABS(a.x) AND a.k = 'it''s' WITHIN 5 MINUTES; -- SEQ"
    found = scopes(line)
    assert found["P"] == "entity.name.type.cep"
    assert found["end"] == "variable.other.property.cep"
    assert found["1.5"] == "constant.numeric.cep"
    assert found["AND"] == "keyword.operator.word.cep"
    assert found["'it''s'"] == "string.quoted.single.cep"
    assert found["MINUTES"] == "keyword.other.unit.cep"
    assert found["-- SEQ"] == "comment.line.double-dash.cep"
    assert scopes("a TIMESTAMP BY ts")["TIMESTAMP"] == "keyword.control.cep"


def test_every_keyword_and_type_has_a_sentence_for_hover():
    assert set(KEYWORD_HELP) == set(SPELLINGS)
    assert set(TYPE_HELP) == {type_.value for type_ in COLUMN_TYPES}


@pytest.mark.parametrize("name", read("snippets/cep.json"))
def test_snippets_are_written_in_the_language(name):
    text = "\n".join(read("snippets/cep.json")[name]["body"])
    text = re.sub(r"\$\{\d+\|([^,|]+)[^}]*\|\}", r"\1", text)
    text = re.sub(r"\$\{\d+:([^}]*)\}", r"\1", text).replace("$0", "")
    diagnostics = Diagnostics()
    tree = parse(Source(name, text), diagnostics)
    assert not list(diagnostics)
    assert len(tree.statements) == 1


def test_the_files_of_the_manifest_exist():
    manifest = read("package.json")
    contributes = manifest["contributes"]
    paths = [manifest["main"]]
    paths += [item["configuration"] for item in contributes["languages"]]
    paths += [item["path"] for kind in ("grammars", "snippets") for item in contributes[kind]]
    assert all((VSCODE / path).is_file() for path in paths)
    assert contributes["grammars"][0]["scopeName"] == read("syntaxes/cep.tmLanguage.json")["scopeName"] == "source.cep"
    assert read("language-configuration.json")["comments"]["lineComment"] == "--"


EDITOR = """
const Module = require("module");
const log = [];
const settings = { enabled: true, command: process.argv[2] };
const vscode = {
  workspace: {
    isTrusted: process.argv[3] === "trusted",
    workspaceFolders: [{ uri: { fsPath: "/project" } }],
    getConfiguration: (section) => ({ get: (key) => (section === "cep.server" ? settings[key] : undefined) }),
    createFileSystemWatcher: (glob) => ({ glob }),
    onDidGrantWorkspaceTrust: () => ({}),
    onDidChangeConfiguration: () => ({}),
  },
  commands: { registerCommand: (name, run) => log.push(["command", name]) },
  window: { showWarningMessage: (text) => log.push(["warning", text]) },
};
class LanguageClient {
  constructor(id, name, server, client) { log.push(["client", server, client]); }
  async start() { if (process.argv[4]) throw new Error(process.argv[4]); log.push(["started"]); }
  async stop() { log.push(["stopped"]); }
}
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
const extension = require(process.argv[1]);
const done = extension.activate({ subscriptions: [] }).then(() => extension.deactivate());
done.then(() => console.log(JSON.stringify(log)));
"""


def run_extension(*arguments):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    command = [node, "-e", EDITOR, str(VSCODE / "extension.js"), *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_the_extension_starts_the_server():
    log = run_extension("cep", "trusted")
    (server, client) = next(entry[1:] for entry in log if entry[0] == "client")
    assert (server["command"], server["args"]) == ("cep", ["lsp"])
    assert client["documentSelector"] == [{"language": "cep"}]
    assert [entry[0] for entry in log] == ["command", "client", "started", "stopped"]


def test_the_command_may_be_a_path_of_the_workspace():
    log = run_extension(".venv/bin/cep", "trusted")
    assert next(entry[1] for entry in log if entry[0] == "client")["command"] == "/project/.venv/bin/cep"


def test_a_missing_server_is_one_message_that_says_what_to_install():
    log = run_extension("cep", "trusted", "spawn cep ENOENT")
    (warning,) = [entry[1] for entry in log if entry[0] == "warning"]
    assert "pip install 'cep-engine[lsp]'" in warning


def test_nothing_is_started_in_a_folder_nobody_trusts():
    assert [entry[0] for entry in run_extension("cep", "restricted")] == ["command"]
