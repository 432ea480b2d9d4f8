"""The formats for editors, CI systems and code-scanning services."""

from __future__ import annotations

import json

import jsonschema

from cep.diagnostics import CODES, Severity
from cep.render import Report, concise, github, sarif
from cep.render import json as render_json
from cep.render.report import summary
from cep.source import Source
from tests.explain.plans import awkward, card_testing
from tests.render.findings import SOURCE, TWICE, UNKNOWN, WARNING, finding, report, span

PLACE = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": r"^[A-Za-z0-9%/._~:-]+$"}},
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["startLine", "startColumn", "endLine", "endColumn"],
                    "properties": {
                        name: {"type": "integer", "minimum": 1}
                        for name in ("startLine", "startColumn", "endLine", "endColumn")
                    },
                },
            },
        }
    },
}
MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
# The part of the published SARIF 2.1.0 schema that this tool's output uses.
SARIF = {
    "type": "object",
    "required": ["version", "$schema", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": {"type": "string"},
                                    "semanticVersion": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string"},
                                                "shortDescription": MESSAGE,
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "artifacts": {"type": "array", "items": {"type": "object"}},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": MESSAGE,
                                "locations": {"type": "array", "items": PLACE},
                                "relatedLocations": {"type": "array", "items": PLACE},
                            },
                        },
                    },
                },
            },
        },
    },
}


def test_concise_is_one_line_a_finding():
    assert concise.render([report(UNKNOWN, WARNING)]) == (
        "rules/p.cep:7:8: error[CEP0203] unknown attribute `amout` on stream `Trans` (did you mean `amnt`?)\n"
        "rules/p.cep:3:9: warning[CEP0503] no partition key: 100% in one bucket, really\n"
    )


def test_concise_says_nothing_where_there_is_nothing():
    assert concise.render([report()]) == ""


def test_github_puts_errors_first_and_escapes():
    assert github.render([report(WARNING, UNKNOWN)]).splitlines() == [
        (
            "::error title=cep (CEP0203),file=rules/p.cep,line=7,col=8,endLine=7,endColumn=13"
            "::unknown attribute `amout` on stream `Trans`%0Adid you mean `amnt`?%0Anote: Trans has ts, acc, amnt"
        ),
        (
            "::warning title=cep (CEP0503),file=rules/p.cep,line=3,endLine=4"
            "::no partition key: 100%25 in one bucket, really"
        ),
    ]


def test_github_leaves_columns_out_over_several_lines_and_escapes_paths():
    source = Source("a,b:c.cep", "x\ny")
    line = github.render([report(finding(source.span(0, 3)), source=source)])
    assert line.startswith("::error title=cep (CEP0203),file=a%2Cb%3Ac.cep,line=1,endLine=2::")


def test_json_has_exactly_the_agreed_keys():
    reports = [Report(file="a.cep", ok=True, diagnostics=(), plans=(card_testing(), awkward()))]
    document = json.loads(render_json.render(reports))
    assert list(document) == ["files"]
    (file,) = document["files"]
    assert list(file) == ["file", "ok", "diagnostics", "patterns"]
    first, second = file["patterns"]
    assert first == {
        "name": "CardTesting",
        "acyclic": True,
        "free_connex": True,
        "hierarchical": False,
        "q_hierarchical": False,
        "output_variables": ["s1.acc", "s1.ts", "s2.ts", "l.ts", "l.amnt"],
        "connex_variables": ["s1.acc", "s1.ts", "s2.ts", "l.ts", "l.amnt"],
        "partition_key": {"Trans": ["acc"]},
        "window_ms": 3_600_000,
        "runtime": "iedyn",
        "guarantees": {
            "update": "O(log n) for an event in order",
            "delay": "constant between two matches, once the first is found",
            "space": "linear in the events of the window",
            "emission": "when its last event arrives",
        },
    }
    assert isinstance(first["window_ms"], int)
    assert second["partition_key"] is None
    assert second["window_ms"] is None


def test_json_gives_each_finding_its_place():
    document = json.loads(render_json.render([report(UNKNOWN, WARNING)]))
    assert document["files"][0]["ok"] is False
    assert document["files"][0]["diagnostics"][0] == {
        "code": "CEP0203",
        "severity": "error",
        "message": "unknown attribute `amout` on stream `Trans`",
        "line": 7,
        "column": 8,
        "end_line": 7,
        "end_column": 13,
        "hint": "did you mean `amnt`?",
    }
    assert document["files"][0]["diagnostics"][1]["hint"] is None


def test_json_lists_what_is_wrong_in_an_imported_file_under_that_file_and_once():
    shared = Source("streams.cep", "STREAM x")
    wrong = finding(span("x", shared))
    reports = [Report(file=name, ok=False, diagnostics=(wrong,)) for name in ("a.cep", "b.cep")]
    files = json.loads(render_json.render(reports))["files"]
    assert [(f["file"], f["ok"], len(f["diagnostics"])) for f in files] == [
        ("a.cep", False, 0),
        ("b.cep", False, 0),
        ("streams.cep", False, 1),
    ]


def test_sarif_is_valid_and_its_rules_are_the_declared_codes():
    log = json.loads(sarif.render([report(UNKNOWN, TWICE, WARNING)], version="1.2.3"))
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CODES)
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["CEP0203", "CEP0205", "CEP0503"]
    assert [result["level"] for result in run["results"]] == ["error", "error", "warning"]
    related = run["results"][1]["relatedLocations"][0]
    assert related["message"]["text"] == "first declared here"
    assert related["physicalLocation"]["region"]["startLine"] == 1


def test_sarif_percent_encodes_paths():
    source = Source("my rules/ü.cep", "x")
    log = json.loads(sarif.render([report(finding(source.span(0, 1)), source=source)], version="1"))
    location = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "my%20rules/%C3%BC.cep"


def test_the_summary_counts():
    assert summary([report(UNKNOWN, TWICE, WARNING)]) == "1 file, 0 patterns: 2 errors, 1 warning"
    assert WARNING.severity is Severity.WARNING
    assert SOURCE.name == UNKNOWN.span.file
