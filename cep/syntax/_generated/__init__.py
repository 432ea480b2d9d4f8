"""Generated from grammar/ by ANTLR 4.13.2; do not edit: python -m cep.syntax.regenerate."""
