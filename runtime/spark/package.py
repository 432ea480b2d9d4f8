"""`python -m runtime.spark.package OUT.zip`: our code as one zip, for `--py-files` and `addArtifacts`.

It holds `cep`, `runtime` and `connectors`. What they need on executors (numpy, pyarrow, pandas, protobuf,
cryptography) has native code and must be installed where the workers run. With a master that is not local, `cep run`
builds and ships the zip by itself.
"""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from pathlib import Path

PACKAGES = ("cep", "runtime", "connectors")


def package(target: Path) -> Path:
    """Write the zip; the same code gives the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in PACKAGES:
            spec = importlib.util.find_spec(name)
            assert spec is not None
            for place in spec.submodule_search_locations or ():
                root = Path(place)
                for file in sorted(root.rglob("*.py")):
                    entry = zipfile.ZipInfo(f"{name}/{file.relative_to(root).as_posix()}")
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(entry, file.read_bytes())
    return target


def main() -> int:
    """The command."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.stderr.write("usage: python -m runtime.spark.package OUT.zip\n")
        return 2
    sys.stdout.write(f"{package(Path(sys.argv[1]))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
