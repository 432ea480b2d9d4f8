"""Nothing is imported that a command does not need. Counted in modules, not in seconds."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from cep.cli import COMMANDS

ROOT = Path(__file__).parents[2]
HEAVY = {
    "antlr4", "confluent_kafka", "duckdb", "google", "grpc", "numpy", "pandas", "prometheus_client", "pyarrow",
    "pyspark", "rich", "sortedcontainers", "structlog",
}  # fmt: skip


def loaded(code):
    """The top-level modules that a fresh interpreter holds after `code`, and how many modules in all."""
    probe = f"import sys\n{code}\nprint(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stderr.split()
    return {name.partition(".")[0] for name in names}, len(names)


def test_importing_the_package_loads_nothing_heavy():
    top, number = loaded("import cep")
    assert not top & HEAVY
    assert "click" not in top
    assert number - loaded("pass")[1] < 60


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["nonsense"]])
def test_the_group_alone_loads_nothing_heavy(args):
    top, number = loaded(f"import cep.cli\ncep.cli.main({args})\nsys.stderr = sys.__stderr__")
    assert not {name for name in top if name in HEAVY}
    assert "runtime" not in top
    assert "connectors" not in top
    assert number - loaded("pass")[1] < 250


def test_validate_needs_neither_arrow_nor_spark():
    source = "examples/card_testing/pattern.cep"
    top, _ = loaded(f"import cep.cli, os\nsys.stdout = open(os.devnull, 'w')\ncep.cli.main(['validate', {source!r}])")
    assert not top & (HEAVY - {"antlr4", "rich"})


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_of_the_table_exists(name):
    module, _, attribute = COMMANDS[name].target.partition(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert command.name == name
