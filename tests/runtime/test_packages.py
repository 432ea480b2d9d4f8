"""The packages as a type checker, a shell and a wheel see them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("cep", "runtime", "connectors")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_says_that_it_is_typed(name: str) -> None:
    assert (ROOT / name / "py.typed").is_file()


def test_the_wheel_has_the_packages_whole() -> None:
    """hatchling takes every file of a package that git does not ignore: `py.typed`, grammar tables, templates."""
    wheel = '[tool.hatch.build.targets.wheel]\npackages = ["cep", "runtime", "connectors"]\n\n['
    assert wheel in (ROOT / "pyproject.toml").read_text(), "no file of a package is left out"
    files = [f"{name}/py.typed" for name in PACKAGES]
    ignored = subprocess.run(["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ignored.stdout == ""


@pytest.mark.parametrize("name", ["cep", "runtime"])
def test_dir_shows_what_a_package_offers(name: str) -> None:
    package = importlib.import_module(name)
    assert set(package.__all__) <= set(dir(package))
    for offered in package.__all__:
        assert getattr(package, offered) is not None


def test_dir_of_a_fresh_runtime_loads_nothing() -> None:
    code = "import sys, runtime; print(sorted(set(runtime.__all__) - set(dir(runtime))), 'numpy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["[]", "False"]


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'runtime' has no attribute 'Engin'"):
        importlib.import_module("runtime").Engin  # noqa: B018 - asking is the test
