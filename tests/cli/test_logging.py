"""Logging is configured by the CLI alone."""

from __future__ import annotations

import json
from logging import getLogger

import pytest
import structlog

from cep.cli import logging


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    structlog.reset_defaults()
    getLogger().removeHandler(logging._HANDLER)


def test_off_a_terminal_lines_are_json_on_stderr(capsys):
    logging.configure("info")
    log = structlog.get_logger()
    log.debug("hidden")
    log.info("batch", pattern="P", events=3)
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
    logging.configure("debug")
    structlog.get_logger().debug("batch", pattern="P")
    err = capsys.readouterr().err
    assert "batch" in err
    assert "pattern=P" in err
    assert not err.startswith("{")


def test_what_client_libraries_log_looks_the_same(capsys):
    logging.configure("info")
    logging.configure("info")
    log = getLogger("connectors.kafka")
    log.info("not heard")
    log.warning("broker %d is slow", 3)
    log.error("failed", exc_info=ValueError("odd"))
    slow, failed = map(json.loads, capsys.readouterr().err.splitlines())
    assert {key: slow[key] for key in ("event", "level", "logger")} == {
        "event": "broker 3 is slow",
        "level": "warning",
        "logger": "connectors.kafka",
    }
    assert failed["exception"][0]["exc_value"] == "odd"


def failing(password):
    raise ValueError("odd" if password else "even")


@pytest.mark.parametrize("terminal", [False, True])
def test_tracebacks_have_no_values_of_variables(capsys, monkeypatch, terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    logging.configure("debug")
    canary = "canary-" + "5ecret"
    settings = {"sasl.password": canary}
    for log in (structlog.get_logger(), getLogger("connectors.kafka")):
        try:
            failing(settings["sasl.password"])
        except ValueError:  # noqa: PERF203 - two rounds
            log.exception("failed")
    err = capsys.readouterr().err
    assert err.count("failing") >= 2
    assert "odd" in err
    assert canary not in err
