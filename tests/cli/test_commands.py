"""The commands as a user meets them: output, streams and exit status."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest

from cep.cli import COMMANDS, cli, main
from cep.cli.lazy import Entry
from cep.cli.version import version

STREAM = "STREAM T (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts;\n"
GOOD = STREAM + "PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR;\n"
BAD = STREAM + "PATTERN P SEQ(T a, T b) WHERE a.k = b.kk WITHIN 1 HOUR;\n"


@pytest.fixture(autouse=True)
def _in_a_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "CEP_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    Path("good.cep").write_text(GOOD, encoding="utf-8")
    Path("bad.cep").write_text(BAD, encoding="utf-8")


@pytest.fixture
def cep(capfd):
    """Run a command; its status, stdout and stderr."""

    def run(*args):
        status = main(list(args))
        return (status, *capfd.readouterr())

    return run


def feed(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


# --- validate ---


def test_validate_a_good_file_is_quiet_on_stdout(cep):
    assert cep("validate", "good.cep") == (0, "", "1 file, 1 pattern: no findings\n")


def test_validate_shows_every_finding_and_leaves_with_1(cep):
    status, out, err = cep("validate", "good.cep", "bad.cep")
    assert status == 1
    assert "error[CEP0203]: unknown attribute `kk` on stream `T`\n --> bad.cep:2:39\n" in out
    assert "did you mean `k`?" in out
    assert err == "2 files, 1 pattern: 1 error\n"


def test_validate_json_prints_one_document_and_nothing_else(cep):
    status, out, err = cep("validate", "--output-format", "json", "good.cep", "bad.cep")
    files = json.loads(out)["files"]
    assert (status, err) == (1, "")
    assert [(file["file"], file["ok"], len(file["patterns"])) for file in files] == [
        ("good.cep", True, 1),
        ("bad.cep", False, 0),
    ]
    assert files[1]["diagnostics"][0]["code"] == "CEP0203"
    assert files[0]["patterns"][0]["partition_key"] == {"T": ["k"]}
    assert files[0]["patterns"][0]["window_ms"] == 3_600_000


@pytest.mark.parametrize(
    ("output_format", "begins"),
    [("concise", "bad.cep:2:39: error[CEP0203] "), ("github", "::error title=cep (CEP0203),file=bad.cep,line=2,")],
)
def test_validate_in_line_formats(cep, output_format, begins):
    status, out, _ = cep("validate", "--output-format", output_format, "bad.cep")
    assert status == 1
    assert out.startswith(begins)


def test_validate_sarif_names_the_version(cep):
    _, out, _ = cep("validate", "--output-format", "sarif", "bad.cep")
    (run,) = json.loads(out)["runs"]
    assert run["tool"]["driver"]["semanticVersion"] == version()
    assert [result["ruleId"] for result in run["results"]] == ["CEP0203"]


def test_warnings_leave_with_0(cep):
    text = STREAM + "PATTERN P SEQ(T a, T b) WITHIN 1 HOUR;\n"
    Path("warn.cep").write_text(text, encoding="utf-8")
    status, out, _ = cep("validate", "warn.cep")
    assert status == 0
    assert "warning[CEP05" in out


def test_exit_zero_ignores_findings_but_not_unreadable_files(cep):
    assert cep("validate", "--exit-zero", "bad.cep")[0] == 0
    assert cep("validate", "--exit-zero", "missing.cep")[0] == 2


def test_a_missing_file_leaves_with_2_and_the_others_are_checked(cep):
    status, out, _ = cep("validate", "missing.cep", "bad.cep")
    assert status == 2
    assert "error[CEP0001]: cannot read `missing.cep`: no such file or directory" in out
    assert "CEP0203" in out


def test_a_file_that_is_not_text_leaves_with_2(cep):
    Path("binary.cep").write_bytes(b"STREAM \xff")
    status, out, _ = cep("validate", "binary.cep")
    assert status == 2
    assert "error[CEP0002]: `binary.cep` is not UTF-8 text\n" in out
    assert "note: byte 0xff on line 1 (offset 7) cannot be decoded" in out


def test_a_byte_order_mark_is_no_error(cep):
    Path("bom.cep").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert cep("validate", "bom.cep")[0] == 0


def test_a_directory_stands_for_the_pattern_files_below_it(cep):
    Path("rules/deep").mkdir(parents=True)
    Path("rules/.git").mkdir()
    for name in ("rules/b.cep", "rules/deep/a.cep", "rules/.git/c.cep", "rules/notes.txt"):
        Path(name).write_text(GOOD, encoding="utf-8")
    _, out, _ = cep("validate", "--output-format", "json", "rules", "rules/b.cep")
    assert [file["file"] for file in json.loads(out)["files"]] == ["rules/b.cep", "rules/deep/a.cep"]


def test_a_directory_without_pattern_files_is_bad_usage(cep):
    Path("empty").mkdir()
    status, _, err = cep("validate", "empty")
    assert status == 2
    assert "no *.cep file below directory `empty`" in err


def test_stdin_has_the_name_it_is_given(cep, monkeypatch):
    feed(monkeypatch, BAD)
    status, out, _ = cep("validate", "-", "--stdin-filename", "editor.cep", "--output-format", "concise")
    assert status == 1
    assert out.startswith("editor.cep:2:39: ")


def test_what_is_wrong_in_an_imported_file_is_shown_there(cep):
    Path("streams.cep").write_text("STREAM T (ts TIMESTAMPP);\n", encoding="utf-8")
    Path("main.cep").write_text("IMPORT 'streams.cep';\nPATTERN P T a UNBOUNDED;\n", encoding="utf-8")
    status, out, _ = cep("validate", "main.cep")
    assert status == 1
    assert "streams.cep:1:14" in out
    assert "1 | STREAM T (ts TIMESTAMPP);" in out


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, False),
    ],
)
def test_colour_follows_the_environment(cep, monkeypatch, environment, coloured):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    _, out, _ = cep("validate", "bad.cep")
    assert ("\x1b[" in out) is coloured


# --- explain ---


def test_explain_draws_on_stdout(cep):
    status, out, err = cep("explain", "good.cep")
    assert (status, err) == (0, "")
    assert out.startswith("P\n=\n")


@pytest.mark.parametrize(
    ("output_format", "check"),
    [
        ("json", json.loads),
        ("svg", ET.fromstring),
        ("mermaid", lambda text: re.fullmatch(r"flowchart TD\n.*\n", text, re.DOTALL).group()),
        ("dot", lambda text: re.fullmatch(r"graph plans \{\n.*\}\n", text, re.DOTALL).group()),
    ],
)
def test_explain_in_other_formats(cep, output_format, check):
    status, out, _ = cep("explain", "good.cep", "--format", output_format)
    assert status == 0
    assert check(out) is not None


def test_explain_of_an_invalid_file_prints_its_findings_and_draws_nothing(cep):
    status, out, err = cep("explain", "bad.cep")
    assert (status, out) == (1, "")
    assert "error[CEP0203]" in err


def test_explain_one_pattern(cep):
    Path("two.cep").write_text(GOOD + "PATTERN Q T c UNBOUNDED;\n", encoding="utf-8")
    _, out, _ = cep("explain", "two.cep", "--pattern", "Q", "--format", "json")
    assert [pattern["name"] for pattern in json.loads(out)["patterns"]] == ["Q"]


def test_explain_an_unknown_pattern_lists_the_names(cep):
    status, out, err = cep("explain", "good.cep", "--pattern", "p")
    assert (status, out) == (2, "")
    assert "no pattern `p` in good.cep: it has P; did you mean `P`?" in err


def test_explain_an_unreadable_file(cep):
    status, out, err = cep("explain", "missing.cep")
    assert (status, out) == (2, "")
    assert "CEP0001" in err


# --- the group ---


def test_help_lists_every_command(cep):
    status, out, _ = cep("--help")
    assert status == 0
    assert [line.split()[0] for line in out.split("Commands:\n")[1].splitlines()] == list(COMMANDS)


def test_version(cep):
    assert cep("--version") == (0, f"cep {version()}\n", "")


@pytest.mark.parametrize("args", [("nonsense",), ("validate",), ("validate", "--nonsense", "good.cep")])
def test_bad_usage_leaves_with_2_and_says_why_on_stderr(cep, args):
    status, out, err = cep(*args)
    assert (status, out) == (2, "")
    assert "Usage: cep" in err


def command(monkeypatch, function):
    """Make `cep probe` run `function`."""
    monkeypatch.setitem(COMMANDS, "probe", Entry("tests.cli.test_commands:probe", "A probe."))
    monkeypatch.setattr(sys.modules["cep.cli.lazy"], "import_module", lambda _: sys.modules[__name__])
    monkeypatch.setattr(sys.modules[__name__], "probe", click.Command("probe", callback=function), raising=False)


def fail(error):
    def callback():
        raise error

    return callback


def test_an_unexpected_failure_is_one_line_and_status_2(cep, monkeypatch):
    command(monkeypatch, fail(KeyError("boom")))
    assert cep("probe") == (
        2,
        "",
        "error: internal failure: KeyError: 'boom' (`cep --debug ...` or CEP_DEBUG=1 shows the traceback)\n",
    )


@pytest.mark.parametrize("how", ["option", "environment"])
def test_debug_shows_the_traceback(cep, monkeypatch, how):
    command(monkeypatch, fail(KeyError("boom")))
    if how == "environment":
        monkeypatch.setenv("CEP_DEBUG", "1")
    status, _, err = cep(*(["--debug"] if how == "option" else []), "probe")
    assert status == 2
    assert "Traceback (most recent call last)" in err


def test_a_missing_optional_dependency_names_the_extra(cep, monkeypatch):
    command(monkeypatch, fail(ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql")))
    assert cep("probe") == (
        2,
        "",
        "error: this command needs pyspark.sql, which is not installed: pip install 'cep-engine[spark]'\n",
    )


def test_a_dependency_that_is_missing_at_import_names_the_extra_too(cep, monkeypatch):
    def import_module(_):
        raise ModuleNotFoundError("No module named 'confluent_kafka'", name="confluent_kafka")

    monkeypatch.setattr(sys.modules["cep.cli.lazy"], "import_module", import_module)
    status, _, err = cep("tail", "--help")
    assert status == 2
    assert "pip install 'cep-engine[kafka]'" in err
    assert err.count("\n") == 1


def test_a_failed_run_of_a_command_leaves_with_2(cep, monkeypatch):
    command(monkeypatch, fail(click.ClickException("events.jsonl: line 3: not JSON")))
    assert cep("probe") == (2, "", "Error: events.jsonl: line 3: not JSON\n")


def test_ctrl_c_is_quiet_and_leaves_with_130(cep, monkeypatch):
    command(monkeypatch, fail(KeyboardInterrupt()))
    status, out, err = cep("probe")
    assert (status, out, err.strip()) == (130, "", "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_prints_a_script(cep, shell):
    status, out, _ = cep("completion", shell)
    assert status == 0
    assert "_CEP_COMPLETE" in out


def test_completing_a_command_imports_none():
    ctx = click.Context(cli)
    assert [item.value for item in cli.shell_complete(ctx, "re")] == ["replay"]


def test_a_closed_pipe_is_no_failure():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "cep.cli", "explain", "good.cep"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
