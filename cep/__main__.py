"""`python -m cep`."""

from cep.cli import main

if __name__ == "__main__":
    main()
