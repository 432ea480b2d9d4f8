"""Arrays that know nothing of patterns: growing columns, expressions over them, hash tables, sorted groups, keys."""
