"""The command on a cluster of several processes, with the code shipped to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.spark.helpers import CARD, compiled, cut, expected, lines_in, trans, write_parts

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_job_on_two_executors_that_get_our_code_from_the_driver(tmp_path: Path) -> None:
    (tmp_path / "card.cep").write_text(CARD)
    events = trans(400)
    write_parts(tmp_path / "Trans", cut(events, 3, 4))
    # Executors must not find the repository by accident: they start elsewhere, with no PYTHONPATH of ours.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as elsewhere:
        result = subprocess.run(
            [
                sys.executable, "-c",
                f"import sys; sys.path.insert(0, {str(ROOT)!r}); from cep.cli import main; sys.exit(main())",
                "run", str(tmp_path / "card.cep"), "--in", f"Trans={tmp_path}/Trans", "--out", str(tmp_path / "out"),
                "--checkpoint", str(tmp_path / "checkpoint"), "--once", "--max-files", "1", "--buckets", "2",
                "--master", "local-cluster[2,1,1024]",
            ],
            cwd=elsewhere, env=environment, capture_output=True, text=True, check=False, timeout=900,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    plans = compiled(CARD)
    assert lines_in(tmp_path / "out") == expected(plans, {"Trans": events})
    logged = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    assert sum(entry["events"] for entry in logged if entry["event"] == "batch") == 400
