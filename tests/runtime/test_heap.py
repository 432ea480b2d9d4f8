"""Output is made in chunks of some megabytes: their memory is used again, not faulted in anew each time."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource, cep, pyarrow as pa
from runtime import Engine
text = "STREAM A (x INT); STREAM B (x INT); PATTERN P AND(A a, B b) WHERE a.x < b.x UNBOUNDED RETURN a.x AS x, b.x;"
engine = Engine(cep.compile(text)["P"])
low, high = pa.table({"x": range(2000)}), pa.table({"x": range(2000, 4000)})
faults = []
for batch in engine.push({"A": low, "B": high}):
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
half = len(faults) // 2
print(len(faults), faults[-1] - faults[half])
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's heap")
def test_a_chunk_takes_the_memory_of_the_one_before_it() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    chunks, faults = map(int, done.stdout.split())
    assert chunks > 100
    assert faults < chunks, "a chunk has hundreds of pages"
