"""SARIF 2.1.0: findings for code-scanning services.

Every declared code is a rule, so that rule indexes are the same in every run. Columns count characters
(`unicodeCodePoints`), as everywhere else. Paths are relative and percent-encoded, never absolute where the user gave a
relative one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from cep.diagnostics import CODES, Diagnostic
from cep.render.report import Report, findings
from cep.source import Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_RULES = {code: index for index, code in enumerate(CODES)}


def render(reports: Sequence[Report], *, version: str) -> str:
    """One SARIF log with one run; `version` is that of this tool."""
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "cep",
                        "semanticVersion": version,
                        "rules": [
                            {"id": code, "name": _name(title), "shortDescription": {"text": title}}
                            for code, title in CODES.items()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "artifacts": [{"location": {"uri": uri(report.file)}} for report in reports],
                "results": [_result(item) for item in findings(reports)],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def uri(path: str) -> str:
    """A path as a relative URI reference, or an absolute `file:` one.

    >>> uri("rules/card testing.cep"), uri("<stdin>")
    ('rules/card%20testing.cep', '%3Cstdin%3E')
    """
    pure = PurePath(path)
    return pure.as_uri() if pure.is_absolute() else quote(pure.as_posix())


def _result(item: Diagnostic) -> dict[str, Any]:
    lines = [item.message + (f" ({item.hint})" if item.hint else ""), *(f"note: {note}" for note in item.notes)]
    result: dict[str, Any] = {
        "ruleId": item.code,
        "ruleIndex": _RULES[item.code],
        "level": item.severity.value,
        "message": {"text": "\n".join(lines)},
        "locations": [_location(item.span)],
    }
    if item.labels:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": label.text}, **_location(label.span)}
            for number, label in enumerate(item.labels)
        ]
    return result


def _location(span: Span) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(span.file)},
            "region": {
                "startLine": span.line,
                "startColumn": span.column,
                "endLine": span.end_line,
                "endColumn": span.end_column,
            },
        }
    }


def _name(title: str) -> str:
    words = "".join(char if char.isalnum() else " " for char in title).split()
    return "".join(word[:1].upper() + word[1:] for word in words)
