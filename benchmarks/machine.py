"""What a result was measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def facts() -> dict[str, Any]:
    """Processor, memory, versions and how busy the machine was."""
    model = "unknown"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = next((ln.split(":")[1].strip() for ln in cpuinfo.read_text().splitlines() if "model name" in ln), model)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("numpy", "pyarrow", "duckdb", "pyspark", "confluent-kafka")},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
