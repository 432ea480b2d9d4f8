"""Logging is configured by the CLI alone."""

from __future__ import annotations

import json

import structlog

from cep.cli import logging


def test_off_a_terminal_lines_are_json_on_stderr(capsys):
    try:
        logging.configure("info")
        log = structlog.get_logger()
        log.debug("hidden")
        log.info("batch", pattern="P", events=3)
    finally:
        structlog.reset_defaults()
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = map(json.loads, err.splitlines())
    assert {key: line[key] for key in ("event", "level", "pattern", "events")} == {
        "event": "batch",
        "level": "info",
        "pattern": "P",
        "events": 3,
    }
    assert line["timestamp"].endswith("Z")


def test_on_a_terminal_lines_are_for_people(capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    try:
        logging.configure("debug")
        structlog.get_logger().debug("batch", pattern="P")
    finally:
        structlog.reset_defaults()
    err = capsys.readouterr().err
    assert "batch" in err
    assert "pattern=P" in err
    assert not err.startswith("{")
