"""`python -m cep`."""

import sys

from cep.cli import main

if __name__ == "__main__":
    sys.exit(main())
