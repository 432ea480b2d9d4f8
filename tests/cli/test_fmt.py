"""`cep fmt`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from cep.cli import main

UGLY = "stream T (ts timestamp,   k string)\n timestamp by ts ;\n"


@pytest.fixture
def cep(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ugly.cep").write_text(UGLY, encoding="utf-8")

    def run(*args):
        status = main(list(args))
        return (status, *capfd.readouterr())

    return run


def test_a_file_is_rewritten_once(cep):
    assert cep("fmt", "ugly.cep") == (0, "", "1 file changed, 0 left as they are\n")
    assert Path("ugly.cep").read_text(encoding="utf-8") != UGLY
    assert cep("fmt", "ugly.cep") == (0, "", "0 files changed, 1 left as they are\n")
    assert cep("validate", "ugly.cep")[0] == 0


def test_check_changes_nothing_and_leaves_with_1(cep):
    assert cep("fmt", "--check", "ugly.cep") == (1, "", "would change ugly.cep\n")
    assert Path("ugly.cep").read_text(encoding="utf-8") == UGLY
    cep("fmt", "ugly.cep")
    assert cep("fmt", "--check", "ugly.cep") == (0, "", "")


def test_diff_prints_what_would_change(cep):
    status, out, _ = cep("fmt", "--diff", "ugly.cep")
    assert status == 1
    assert out.startswith("--- ugly.cep\n+++ ugly.cep\n@@")
    assert "-stream T (ts timestamp,   k string)\n" in out
    assert Path("ugly.cep").read_text(encoding="utf-8") == UGLY


def test_stdin_goes_to_stdout(cep, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UGLY.encode())))
    status, out, _ = cep("fmt", "-")
    cep("fmt", "ugly.cep")
    assert status == 0
    assert out == Path("ugly.cep").read_text(encoding="utf-8")


def test_a_file_with_syntax_errors_is_left_alone(cep):
    Path("broken.cep").write_text("PATTERN (\n", encoding="utf-8")
    status, out, err = cep("fmt", "broken.cep", "ugly.cep")
    assert (status, out) == (1, "")
    assert "error[CEP01" in err
    assert Path("broken.cep").read_text(encoding="utf-8") == "PATTERN (\n"
    assert Path("ugly.cep").read_text(encoding="utf-8") != UGLY


def test_permissions_and_links_stay(cep):
    Path("ugly.cep").chmod(0o640)
    Path("link.cep").symlink_to("ugly.cep")
    cep("fmt", "link.cep")
    assert Path("link.cep").is_symlink()
    assert Path("ugly.cep").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in Path().iterdir()) == ["link.cep", "ugly.cep"]


def test_a_missing_file_leaves_with_2(cep):
    status, _, err = cep("fmt", "missing.cep")
    assert status == 2
    assert "CEP0001" in err
