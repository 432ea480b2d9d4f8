"""Imports stay inside the project, whatever they are written like, and nothing is told of what is outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import cep
from cep.compiler.load import project_root
from cep.compiler.pipeline import compile_source
from cep.diagnostics import CepError
from cep.source import Source

STREAM = "STREAM Secret (ts TIMESTAMP, password STRING) TIMESTAMP BY ts;\n"
BROKEN = "STREAM Secret (ts TIMESTAMP, password hunter2;\n"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A project with a file of its own, and secrets beside it."""
    (tmp_path / "project" / "patterns").mkdir(parents=True)
    (tmp_path / "project" / "job.toml").write_text("", encoding="utf-8")
    (tmp_path / "project" / "streams.cep").write_text(STREAM, encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.cep").write_text(BROKEN, encoding="utf-8")
    return tmp_path


def findings(world: Path, path: str, root: str | None = None) -> list[tuple[str, str, str | None, tuple[str, ...]]]:
    main = world / "project" / "patterns" / "main.cep"
    text = f"IMPORT '{path}';\n"
    main.write_text(text, encoding="utf-8")
    return [(d.code, d.message, d.hint, d.notes) for d in compile_source(Source(str(main), text), root).diagnostics]


def test_a_file_of_the_project_can_be_imported_from_a_folder_below(world: Path) -> None:
    assert findings(world, "../streams.cep") == []


def test_outside_is_one_message_whether_or_not_there_is_a_file(world: Path) -> None:
    (world / "project" / "link.cep").symlink_to(world / "outside" / "secret.cep")
    (world / "project" / "dangling.cep").symlink_to(world / "outside" / "nothing.cep")
    (world / "project" / "folder").symlink_to(world / "outside")
    paths = [
        "../../outside/secret.cep",
        "../../outside/nothing.cep",
        "../../outside",
        "../../nowhere/at/all.cep",
        str(world / "outside" / "secret.cep"),
        "../link.cep",
        "../dangling.cep",
        "../folder/secret.cep",
        "../folder/nothing.cep",
        "/etc/passwd",
        "/dev/zero",
    ]
    said = {tuple(findings(world, path)) for path in paths}
    hint = f"imports stay inside `{world / 'project'}`; --import-root names another folder"
    assert said == {(("CEP0004", "this import leaves the project", hint, ()),)}


def test_an_imported_file_leads_no_further_either(world: Path) -> None:
    (world / "project" / "streams.cep").write_text("IMPORT '../outside/secret.cep';\n", encoding="utf-8")
    assert [code for code, *_ in findings(world, "../streams.cep")] == ["CEP0004"]


def test_nothing_of_a_file_outside_is_shown(world: Path) -> None:
    main = world / "project" / "main.cep"
    main.write_text("IMPORT '../outside/secret.cep';\n", encoding="utf-8")
    for output in ("full", "json", "concise", "github", "sarif"):
        command = [sys.executable, "-m", "cep", "validate", str(main), "--output-format", output]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "CEP0004" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr


def test_another_root_lets_it_in(world: Path) -> None:
    assert [code for code, *_ in findings(world, "../../outside/secret.cep", str(world))] == ["CEP0211", "CEP0101"]
    (world / "outside" / "secret.cep").write_text(STREAM, encoding="utf-8")
    main = world / "project" / "patterns" / "main.cep"
    with pytest.raises(CepError, match="CEP0004"):
        cep.compile_file(str(main))
    assert not cep.compile_file(str(main), import_root=str(world)).warnings
    for command in ("validate", "explain"):
        base = [sys.executable, "-m", "cep", command, str(main)]
        assert subprocess.run(base, capture_output=True, check=False).returncode == 1
        rooted = [*base, "--import-root", str(world)]
        assert subprocess.run(rooted, capture_output=True, check=False).returncode == 0


def test_a_root_can_be_narrower_than_the_project(world: Path) -> None:
    codes = [code for code, *_ in findings(world, "../streams.cep", str(world / "project" / "patterns"))]
    assert codes == ["CEP0004"]


def test_the_root_is_the_nearest_folder_with_a_marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert project_root(str(inner / "x.cep")) == inner
    for marker in (".git", "cep.toml", "job.toml", "pyproject.toml"):
        (tmp_path / "a" / marker).write_text("", encoding="utf-8")
        assert project_root(str(inner / "x.cep")) == tmp_path / "a"
        (tmp_path / "a" / marker).unlink()
    monkeypatch.chdir(inner)
    assert project_root("<stdin>") == inner
    assert project_root("x.cep") == inner


def test_a_link_to_a_file_of_a_project_is_in_that_project(world: Path) -> None:
    (world / "project" / "patterns" / "main.cep").write_text("IMPORT '../streams.cep';\n", encoding="utf-8")
    (world / "elsewhere").symlink_to(world / "project" / "patterns")
    assert project_root(str(world / "elsewhere" / "main.cep")) == world / "project"
    assert not cep.compile_file(str(world / "elsewhere" / "main.cep")).warnings


def test_a_folder_on_the_command_line_is_the_root_of_what_is_found_in_it(world: Path) -> None:
    (world / "project" / "job.toml").unlink()
    main = world / "project" / "patterns" / "main.cep"
    main.write_text("IMPORT '../streams.cep';\n", encoding="utf-8")
    validate = [sys.executable, "-m", "cep", "validate"]
    assert subprocess.run([*validate, str(main)], capture_output=True, check=False).returncode == 1
    assert subprocess.run([*validate, str(world / "project")], capture_output=True, check=False).returncode == 0


def test_a_loop_of_links_is_a_finding(world: Path) -> None:
    (world / "project" / "loop.cep").symlink_to("loop.cep")
    assert [code for code, *_ in findings(world, "../loop.cep")] in (["CEP0001"], ["CEP0004"])


def test_a_pipe_on_the_command_line_is_read() -> None:
    """`cep validate <(generate)`: what the user names is the user's to name."""
    shell = f'"{sys.executable}" -m cep validate <(echo "STREAM T (x INT);")'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", ["validate", "explain", "fmt"])
@pytest.mark.parametrize("path", ["/dev/zero", "/"])
def test_what_is_no_file_ends_with_a_finding(command: str, path: str, tmp_path: Path) -> None:
    if path == "/":
        path = str(tmp_path / "folder.cep")
        (tmp_path / "folder.cep").mkdir()
    done = subprocess.run([sys.executable, "-m", "cep", command, path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "CEP0" in done.stdout + done.stderr or "no *.cep file" in done.stderr
