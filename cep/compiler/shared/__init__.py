"""What several passes use: difference bounds, constants worked out, functions, ties, walks over the syntax tree."""
