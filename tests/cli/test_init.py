"""`cep init`: the project works as it stands, and nothing of the user's is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cep.cli import main
from cep.cli.init import project_files

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_a_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


def test_a_new_project_validates_passes_its_tests_and_is_formatted(capfd, monkeypatch):
    assert main(["init", "fraud"]) == 0
    monkeypatch.chdir("fraud")
    capfd.readouterr()
    assert main(["validate", "."]) == 0
    assert capfd.readouterr() == ("", "3 files, 2 patterns: no findings\n")
    assert main(["test", "."]) == 0
    assert "2 passed, 0 failed" in "".join(capfd.readouterr())
    assert main(["fmt", "--check", "."]) == 0


def test_its_tests_can_fail(capfd):
    main(["init", "fraud"])
    expected = Path("fraud/patterns/card_testing/expected.jsonl")
    expected.write_text(expected.read_text(encoding="utf-8").replace("950.0", "951.0"), encoding="utf-8")
    capfd.readouterr()
    assert main(["test", "fraud"]) == 1
    assert "950.0" in "".join(capfd.readouterr())


def test_it_lists_what_it_made_and_says_how_to_go_on(capfd):
    assert main(["init", "my fraud"]) == 0
    out, err = capfd.readouterr()
    assert [line.removeprefix("created ") for line in out.splitlines()] == [
        str(Path("my fraud") / name) for name in project_files()
    ]
    assert "  cd 'my fraud'\n" in err
    assert "cep test ." in err


def test_every_command_it_suggests_runs(capfd, monkeypatch):
    main(["init", "fraud"])
    monkeypatch.chdir("fraud")
    suggested = [
        line.split("   ")[0].strip() for line in capfd.readouterr().err.splitlines() if line.startswith("  cep")
    ]
    assert len(suggested) == 3
    for command in suggested:
        assert main(command.split()[1:]) == 0


def test_in_the_current_directory_nobody_is_told_to_leave_it(capfd):
    assert main(["init", "."]) == 0
    assert "cd " not in capfd.readouterr().err


def test_files_in_the_way_are_listed_and_nothing_is_written(capfd):
    Path("fraud").mkdir()
    Path("fraud/streams.cep").write_text("-- mine\n", encoding="utf-8")
    Path("fraud/README.md").symlink_to("nowhere")
    assert main(["init", "fraud"]) == 2
    err = capfd.readouterr().err
    assert "  README.md\n  streams.cep\n" in err
    assert "--force" in err
    assert sorted(path.name for path in Path("fraud").iterdir()) == ["README.md", "streams.cep"]
    assert Path("fraud/streams.cep").read_text(encoding="utf-8") == "-- mine\n"


def test_force_overwrites_its_own_files_and_no_others():
    Path("fraud").mkdir()
    Path("fraud/streams.cep").write_text("-- mine\n", encoding="utf-8")
    Path("fraud/notes.txt").write_text("mine\n", encoding="utf-8")
    assert main(["init", "fraud", "--force"]) == 0
    assert Path("fraud/streams.cep").read_bytes() == project_files()["streams.cep"]
    assert Path("fraud/notes.txt").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("name", ["fraud", "fraud/patterns"])
def test_a_file_where_a_directory_should_be(name, capfd):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("", encoding="utf-8")
    assert main(["init", "fraud"]) == 2
    assert "fraud" in capfd.readouterr().err
    assert not Path("fraud/streams.cep").exists()


def test_every_key_of_the_job_configuration_is_an_option(capfd):
    main(["init", "fraud"])
    config = Path("fraud/job.toml")
    with_slip = config.read_text(encoding="utf-8").replace("out =", "outt =")
    Path("fraud/slip.toml").write_text(with_slip, encoding="utf-8")
    capfd.readouterr()
    assert main(["run", "fraud/nothing.cep", "--config", "fraud/slip.toml"]) == 2
    assert "no option `outt`" in capfd.readouterr().err
    assert main(["run", "fraud/nothing.cep", "--config", "fraud/job.toml"]) == 2
    assert "cannot read `fraud/nothing.cep`" in capfd.readouterr().err


@pytest.mark.spark
@pytest.mark.slow
def test_the_job_runs_with_its_configuration_over_the_test_events(tmp_path):
    main(["init", "fraud"])
    case = Path("fraud/patterns/card_testing")
    command = [
        sys.executable, "-m", "cep.cli", "run", str(case / "pattern.cep"), "--config", "fraud/job.toml",
        "--in", f"Payment={case}/events.jsonl", "--out", "matches", "--on-error", "fail",
        "--checkpoint", str(tmp_path / "checkpoint"), "--once", "--master", "local[1]",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    assert done.returncode == 0, done.stderr
    lines = [
        line for path in Path("matches").rglob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert [json.loads(line)["fields"]["amount"] for line in lines] == [950.0]


def _environment():
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.slow
def test_the_wheel_holds_the_templates(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = zipfile.ZipFile(wheel).namelist()
    shipped = [name for name in held if name.startswith("cep/cli/templates/project/")]
    assert len(shipped) == len(project_files())
