"""`python -m cep.cli`: the `cep` command where no script is installed."""

from __future__ import annotations

import sys

from cep.cli import main

if __name__ == "__main__":
    sys.exit(main())
