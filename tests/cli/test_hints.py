"""What a slip of the fingers gets: the name that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from cep.cli import main
from cep.nearby import similar_file


@pytest.fixture
def cep(capfd, monkeypatch, tmp_path):
    """Run a command in a folder with two pattern files; its status and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("rules").mkdir()
    for name in ("card_testing.cep", "rules/impossible_travel.cep"):
        Path(name).write_text("STREAM T (n INT);\nPATTERN P AND(T a, T b) WHERE a.n = b.n UNBOUNDED;\n")

    def run(*args):
        return main(list(args)), capfd.readouterr()

    return run


@pytest.mark.parametrize(
    ("typed", "meant"), [("tset", "test"), ("vlidate", "validate"), ("RUN", "run"), ("reply", "replay")]
)
def test_an_unknown_command_names_the_nearest(cep, typed, meant):
    status, said = cep(typed)
    assert status == 2
    assert f"No such command '{typed}'. Did you mean '{meant}'?" in said.err


def test_a_command_like_no_other_gets_no_suggestion(cep):
    status, said = cep("xyzzy")
    assert status == 2
    assert "No such command 'xyzzy'." in said.err
    assert "Did you mean" not in said.err


@pytest.mark.parametrize(
    ("command", "typed", "meant"),
    [("replay", "--pattren", "--pattern"), ("run", "--chekpoint", "--checkpoint"), ("test", "--updat", "--update")],
)
def test_an_unknown_option_names_the_nearest(cep, command, typed, meant):
    status, said = cep(command, typed, "x")
    assert status == 2
    _, _, offered = said.err.partition("Did you mean")  # one option, or "one of" a few
    assert meant in offered


@pytest.mark.parametrize("command", ["validate", "explain", "fmt", "replay"])
def test_a_missing_pattern_file_names_the_nearest(cep, command):
    status, said = cep(command, "card_testin.cep")
    assert status == 2
    assert "cannot read `card_testin.cep`: no such file or directory" in said.err + said.out
    assert "did you mean `card_testing.cep`?" in said.err + said.out


def test_the_nearest_file_is_named_with_its_directory(cep):
    _, said = cep("explain", "rules/imposible_travel.cep")
    assert "did you mean `rules/impossible_travel.cep`?" in said.err


def test_a_missing_directory_is_named(cep):
    _, said = cep("explain", "ruels/impossible_travel.cep")
    assert "there is no directory `ruels`" in said.err


def test_a_missing_file_of_events_names_the_nearest(cep):
    Path("events.jsonl").write_text('{"n": 1}\n')
    status, said = cep("replay", "card_testing.cep", "--in", "T=evnets.jsonl")
    assert status == 2
    assert "evnets.jsonl: cannot be read: No such file or directory (did you mean `events.jsonl`?)" in said.err


def test_files_that_are_there_and_hidden_ones_are_no_hint(tmp_path):
    (tmp_path / ".card.cep").write_text("")
    (tmp_path / "here.cep").write_text("")
    assert similar_file(tmp_path / "card.cep") is None
    assert similar_file(tmp_path / "here.cep") is None
