"""Files that nobody writes by hand: each as large or as tangled as the language lets it be, or larger."""

from __future__ import annotations

from collections.abc import Callable, Iterable

STREAM = "STREAM T (ts TIMESTAMP, k STRING, x INT, y INT, p DOUBLE, f BOOLEAN) TIMESTAMP BY ts;\n"
WIDE = "STREAM W (ts TIMESTAMP, " + ", ".join(f"c{i} INT" for i in range(150)) + ") TIMESTAMP BY ts;\n"


def events(count: int, stream: str = "T") -> list[str]:
    return [f"{stream} v{i}" for i in range(count)]


def body(operator: str, parts: Iterable[str]) -> str:
    return f"{operator}({', '.join(parts)})"


def pattern(body: str, conditions: Iterable[str] = (), tail: str = "WITHIN 1 HOUR", name: str = "P") -> str:
    where = balanced(list(conditions))
    return f"PATTERN {name} {body} {'WHERE ' + where if where else ''} {tail};\n"


def balanced(conditions: list[str]) -> str:
    """The conjunction as a low tree: a chain of ANDs has a limit of its own."""
    if len(conditions) <= 8:
        return " AND ".join(conditions)
    middle = len(conditions) // 2
    return f"({balanced(conditions[:middle])}) AND ({balanced(conditions[middle:])})"


def clique(count: int, condition: str) -> list[str]:
    return [condition.format(a=f"v{i}", b=f"v{j}", n=i * count + j) for i in range(count) for j in range(i + 1, count)]


def nested(count: int, inner: str, layer: str) -> str:
    for _ in range(count):
        inner = layer.format(inner)
    return inner


def _alternating(count: int) -> str:
    names = events(count)
    groups = [body("AND", names[i : i + 8]) for i in range(0, count, 8)]
    return body("SEQ", groups)


INPUTS: dict[str, Callable[[], str]] = {
    # many variables
    "SEQ of 64": lambda: STREAM + pattern(body("SEQ", events(64)), tail="PARTITION BY k WITHIN 1 HOUR"),
    "SEQ of 64, DISTINCT": lambda: (
        STREAM + pattern(body("SEQ", events(64)), tail="PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT v63.x AS x")
    ),
    "SEQ of 64, no window": lambda: STREAM + pattern(body("SEQ", events(64)), tail=""),
    "SEQ of 64, unbounded": lambda: STREAM + pattern(body("SEQ", events(64)), tail="UNBOUNDED"),
    "AND of 64": lambda: STREAM + pattern(body("AND", events(64))),
    "AND of 64, keyed": lambda: STREAM + pattern(body("AND", events(64)), tail="PARTITION BY k, x, y WITHIN 1 HOUR"),
    "SEQ of ANDs": lambda: STREAM + pattern(_alternating(64), tail="PARTITION BY k WITHIN 1 HOUR"),
    "65 variables": lambda: STREAM + pattern(body("SEQ", events(65))),
    "300 variables": lambda: STREAM + pattern(body("SEQ", events(300)), tail="PARTITION BY k WITHIN 1 HOUR"),
    "20,000 variables": lambda: STREAM + pattern(body("SEQ", [body("AND", events(20_000)), "T z"])),
    "two of 64": lambda: (
        STREAM
        + "".join(pattern(body("SEQ", events(64)), tail="PARTITION BY k WITHIN 1 HOUR", name=f"P{i}") for i in range(2))
    ),
    "two cyclic of 64": lambda: (
        STREAM + "".join(pattern(_alternating(64), tail="PARTITION BY k WITHIN 1 HOUR", name=f"P{i}") for i in range(2))
    ),
    "five hundred of 64": lambda: STREAM + "".join(pattern(body("SEQ", events(64)), name=f"P{i}") for i in range(400)),
    # gaps and alternatives
    "63 NOTs": lambda: (
        STREAM
        + pattern(
            body("AND", ["T a", *(f"NOT {event}" for event in events(63))]),
            [f"v{i}.x < a.x + {j}" for i in range(63) for j in range(14)],
            tail="PARTITION BY k WITHIN 1 HOUR",
        )
    ),
    "NOTs between 32": lambda: (
        STREAM
        + pattern(
            body("SEQ", [part for i in range(32) for part in (f"T v{i}", f"NOT T w{i}")]),
            [f"w{i}.x < v{j}.x" for i in range(32) for j in range(28)],
            tail="PARTITION BY k WITHIN 1 HOUR",
        )
    ),
    "sets between 32": lambda: (
        STREAM
        + pattern(
            body("SEQ", [part for i in range(32) for part in (f"T v{i}", f"T+ w{i}")]),
            [f"SUM(w{i}.x + {j}) < v{j}.x" for i in range(32) for j in range(28)],
            tail="PARTITION BY k WITHIN 1 HOUR",
        )
    ),
    "a circle of sets": lambda: (
        STREAM
        + pattern(
            body("SEQ", [part for i in range(32) for part in (f"T v{i}", f"T+ w{i}")]),
            [f"w{i}.x > MAX(w{(i + 1) % 32}.x)" for i in range(32)],
        )
    ),
    "an aggregate of a long list": lambda: (
        STREAM
        + pattern("SEQ(T+ a, T b)", [f"COUNT(CASE WHEN a.x IN ({', '.join(map(str, range(45_000)))}) THEN 1 END) > 5"])
    ),
    "NEXT of 32": lambda: STREAM + pattern(body("NEXT", events(32)), tail="PARTITION BY k WITHIN 1 HOUR"),
    "NEXT of many streams": lambda: (
        "".join(STREAM.replace("STREAM T", f"STREAM T{i}") for i in range(60))
        + pattern(body("NEXT", [f"T{i} v{i}" for i in range(60)]), tail="PARTITION BY k WITHIN 1 HOUR")
    ),
    "OR of 20,000": lambda: STREAM + pattern(body("OR", events(20_000))),
    "60 ORs": lambda: STREAM + pattern(body("SEQ", [f"OR(T a{i}, T b{i})" for i in range(30)])),
    "ORs inside each other": lambda: (
        STREAM + pattern(nested(60, "T z", "OR(T a, SEQ(T b, {}))"), tail="PARTITION BY k WITHIN 1 HOUR")
    ),
    "16 alternatives of 33": lambda: (
        STREAM
        + pattern(
            body("SEQ", [*events(25), *(f"OR(T a{i}, T b{i})" for i in range(4))]),
            clique(24, "{a}.x <> {b}.x"),
            tail="PARTITION BY k WITHIN 1 HOUR",
        )
    ),
    "alternatives of a long list": lambda: (
        STREAM + pattern("SEQ(T a, T? b, T? c)", [f"b.x IN ({', '.join(map(str, range(30_000)))})"])
    ),
    "alternatives of a deep condition": lambda: (
        STREAM
        + pattern("SEQ(T a, T? b, T? c)", [nested(40, "b.x", "CASE {} WHEN 1 THEN 2 WHEN 3 THEN 4 END") + " > 5"])
    ),
    # cliques
    "clique of =": lambda: STREAM + pattern(body("AND", events(44)), clique(44, "{a}.x = {b}.x")),
    "clique of = over attributes": lambda: (
        STREAM
        + pattern(body("AND", events(16)), [c for o in ("x", "y", "k") for c in clique(16, f"{{a}}.{o} = {{b}}.{o}")])
    ),
    "clique of <": lambda: STREAM + pattern(body("AND", events(44)), clique(44, "{a}.x < {b}.x")),
    "clique of <=": lambda: STREAM + pattern(body("SEQ", events(44)), clique(44, "{a}.p <= {b}.p")),
    "clique of < backwards": lambda: STREAM + pattern(body("AND", events(44)), reversed(clique(44, "{a}.x < {b}.x"))),
    "clique of <>": lambda: STREAM + pattern(body("AND", events(44)), clique(44, "{a}.x <> {b}.x")),
    "clique of mixed": lambda: STREAM + pattern(body("AND", events(44)), clique(44, "{a}.x < {b}.y")),
    "clique of times": lambda: (
        STREAM + pattern(body("AND", events(44)), clique(44, "{a}.ts < {b}.ts + {n} SECONDS"), tail="")
    ),
    "clique of sums": lambda: STREAM + pattern(body("AND", events(44)), clique(44, "{a}.x + {b}.x > {n}")),
    "clique of ORs": lambda: (
        STREAM + pattern(body("AND", events(30)), clique(30, "({a}.x < {b}.x OR {a}.y > {b}.y OR {a}.p < {b}.p)"))
    ),
    "cycle": lambda: (
        STREAM + pattern(body("AND", events(64)), [f"v{i}.x = v{(i + 1) % 64}.y" for i in range(64)], tail="UNBOUNDED")
    ),
    "grid": lambda: (
        STREAM
        + pattern(
            body("AND", events(64)),
            [f"v{i}.x = v{i + 1}.y" for i in range(63)] + [f"v{i}.k = v{i + 8}.k" for i in range(56)],
        )
    ),
    # conditions
    "1,000 conditions": lambda: (
        STREAM + pattern("SEQ(T a, T b)", [f"a.x < b.x + {i}" for i in range(998)], tail="UNBOUNDED")
    ),
    "1,000 filters": lambda: STREAM + pattern(body("AND", events(64)), [f"v{i % 64}.x <> {i}" for i in range(1000)]),
    "1,000 shared filters": lambda: (
        STREAM
        + pattern(body("AND", events(64)), [f"v0.x <> {i}" for i in range(900)], tail="PARTITION BY x WITHIN 1 HOUR")
    ),
    "12,000 conditions": lambda: STREAM + pattern("SEQ(T a, T b)", [f"a.x <> {i}" for i in range(12_000)]),
    "chain of ANDs": lambda: STREAM + "PATTERN P T a WHERE " + " AND ".join(["a.x > 1"] * 12_000) + " UNBOUNDED;",
    "chain of ORs": lambda: (
        STREAM + pattern("SEQ(T a, T b)", [" OR ".join(f"a.x = {i}" for i in range(190)) for _ in range(60)])
    ),
    "long ORs of two": lambda: (
        STREAM + pattern("SEQ(T a, T b)", [balanced([f"a.x = b.x + {i}" for i in range(10_000)]).replace("AND", "OR")])
    ),
    "contradictions": lambda: (
        STREAM + pattern("SEQ(T a, T b)", [f"a.x {'<' if i % 2 else '>'} {i}" for i in range(900)])
    ),
    "a chain through columns": lambda: (
        WIDE + pattern("SEQ(W a, W b)", [f"a.c{i} < a.c{i + 1}" for i in range(148)] + ["a.c149 < a.c0"])
    ),
    "chains through all columns": lambda: (
        WIDE
        + pattern(body("SEQ", events(6, "W")), [f"v{j}.c{i} < v{j}.c{i + 1}" for j in range(6) for i in range(149)])
    ),
    # expressions
    "IN list of 45,000": lambda: (
        STREAM
        + pattern(
            "SEQ(T a, T b)", [f"a.x IN ({', '.join(map(str, range(45_000)))})"], tail="PARTITION BY x WITHIN 1 HOUR"
        )
    ),
    "IN list of texts": lambda: (
        STREAM + pattern("SEQ(T a, T b)", [f"a.k NOT IN ({', '.join(repr(str(i)) for i in range(40_000))})"])
    ),
    "IN list in 64 places": lambda: (
        STREAM
        + pattern(
            body("AND", events(64)),
            [f"v0.x IN ({', '.join(map(str, range(40_000)))})"],
            tail="PARTITION BY x WITHIN 1 HOUR",
        )
    ),
    "IN list of 100,000": lambda: STREAM + pattern("T a", [f"a.x IN ({', '.join(map(str, range(100_000)))})"]),
    "sum of 180": lambda: STREAM + pattern("SEQ(T a, T b)", ["a.x > " + " + ".join(["b.y"] * 180)]),
    "sum of 5,000": lambda: STREAM + pattern("SEQ(T a, T b)", ["a.x > " + " + ".join(["b.y"] * 5_000)]),
    "many sums": lambda: STREAM + pattern("SEQ(T a, T b)", ["a.x > " + " + ".join(["b.y"] * 180)] * 120),
    "CASE of 5,000": lambda: (
        STREAM
        + pattern("T a", ["CASE " + " ".join(f"WHEN a.x = {i} THEN {i}" for i in range(5_000)) + " ELSE 0 END > 3"])
    ),
    "CASE of CASE": lambda: (
        STREAM + pattern("T a", [nested(40, "a.x", "CASE {0} WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE 4 END") + " > 1"])
    ),
    "BETWEEN in CASE": lambda: (
        STREAM + pattern("T a", [nested(30, "a.x", "CASE WHEN {0} BETWEEN 1 AND 2 THEN 1 ELSE 2 END") + " > 1"])
    ),
    "ABS of ABS": lambda: STREAM + pattern("T a", [nested(50, "a.x", "ABS({0} - 1)") + " > 1"]),
    "LIKE of wildcards": lambda: STREAM + pattern("T a", [f"a.k LIKE '{'%_' * 4_900}'"]),
    "64 brackets": lambda: STREAM + pattern("T a", [nested(60, "a.x > 1", "({0})")]),
    "100,000 brackets": lambda: STREAM + pattern("T a", ["(" * 45_000 + "a.x" + ")" * 45_000]),
    "open brackets": lambda: STREAM + "PATTERN P " + "SEQ(" * 20_000,
    "NOT NOT": lambda: STREAM + pattern("T a", ["NOT " * 40_000 + "a.f"]),
    "minus minus": lambda: STREAM + pattern("T a", ["- " * 40_000 + "a.x > 1"]),
    "deep body": lambda: STREAM + pattern(nested(60, "T a", "AND({0})")),
    "RETURN of 10,000": lambda: (
        STREAM + pattern("T a", tail="WITHIN 1 HOUR RETURN " + ", ".join(f"a.x + {i} AS f{i}" for i in range(10_000)))
    ),
    # text
    "literal of 900,000": lambda: STREAM + pattern("T a", [f"a.k = '{'x' * 900_000}'"]),
    "literal of 20 MB": lambda: STREAM + pattern("T a", [f"a.k = '{'x' * 20_000_000}'"]),
    "many literals": lambda: STREAM + pattern("T a", [f"a.k IN ({', '.join([repr('x' * 9_000)] * 90)})"]),
    "number of 900,000 digits": lambda: STREAM + pattern("T a", [f"a.x = {'9' * 900_000}"]),
    "name of 900,000": lambda: STREAM + pattern(f"T {'a' * 900_000}"),
    "unterminated text": lambda: STREAM + "PATTERN P T a WHERE a.k = '" + "x" * 900_000,
    "unterminated comment": lambda: STREAM + "/*" + "*x" * 450_000,
    "comments": lambda: STREAM + "/**/" * 200_000,
    "spaces": lambda: STREAM + " " * 900_000,
    "lines": lambda: "\n" * 900_000 + STREAM,
    "unknown characters": lambda: STREAM + "ä " * 400_000,
    "a run of unknown characters": lambda: STREAM + "\x01" * 900_000,
    "letters of the world": lambda: STREAM + "".join(map(chr, range(0xA1, 0xD800))) * 6,
    "a comment in Japanese": lambda: STREAM + "/* " + "日本語の" * 80_000 + " */",
    "typographic quotes": lambda: STREAM + "\u201c" * 400_000,
    "operators": lambda: STREAM + "&& " * 300_000,
    "semicolons": lambda: STREAM + ";" * 900_000,
    "statements without a name": lambda: STREAM + "PATTERN " * 90_000,
    "names": lambda: STREAM + "a " * 450_000,
    "clauses": lambda: STREAM + "PATTERN P T a " + "WHERE " * 60_000,
    "one long wrong line": lambda: STREAM + "PATTERN P T a WHERE " + " ".join(["a.x >"] * 20_000) + ";",
    "wrong at the end of a long line": lambda: (
        STREAM + "".join(f"PATTERN P{i} T a WHERE a.z > 1 UNBOUNDED; " for i in range(4_000))
    ),
    "commas": lambda: "STREAM T (" + "," * 90_000 + ");",
    "wrong columns": lambda: "STREAM T (" + ", ".join("a b c" for _ in range(20_000)) + ");",
    # files
    "1,000 patterns": lambda: (
        STREAM
        + "".join(
            pattern(
                "SEQ(T a, T b, T c)",
                [f"a.k = b.k AND b.k = c.k AND a.x < {i} AND b.x < 100 AND c.x > 400"],
                tail="WITHIN 1 HOUR RETURN c.k AS acc, a.ts AS first_ts",
                name=f"P{i}",
            )
            for i in range(1_000)
        )
    ),
    "8,000 patterns": lambda: STREAM + "".join(pattern("T a", name=f"P{i}") for i in range(8_000)),
    "6,000 streams": lambda: "".join(f"STREAM T{i} (ts TIMESTAMP, x INT) TIMESTAMP BY ts;\n" for i in range(6_000)),
    "2,000 streams and patterns": lambda: "".join(
        f"STREAM T{i} (ts TIMESTAMP, x INT) TIMESTAMP BY ts;\nPATTERN P{i} T{i} a UNBOUNDED;\n" for i in range(2_000)
    ),
    "unknown streams": lambda: (
        "".join(f"STREAM S{i} (x INT);\n" for i in range(4_000))
        + "".join(f"PATTERN P{i} U{i} a UNBOUNDED;\n" for i in range(4_000))
    ),
    "one name, 8,000 times": lambda: STREAM + pattern("T a") * 8_000,
    "a stream of 30,000 columns": lambda: (
        "STREAM W (" + ", ".join(f"c{i} INT" for i in range(30_000)) + ");\n" + "PATTERN P AND(W a, W b) UNBOUNDED;"
    ),
    "wide streams": lambda: WIDE + pattern(body("AND", events(64, "W")), tail="PARTITION BY c1 WITHIN 1 HOUR"),
    "many wide patterns": lambda: WIDE + "".join(pattern("SEQ(W a, W b, W c)", name=f"P{i}") for i in range(400)),
    "imports of nothing": lambda: "".join(f"IMPORT 'missing{i}.cep';\n" for i in range(30_000)),
    "imports outside": lambda: "".join(f"IMPORT '../../x{i}.cep';\n" for i in range(30_000)),
}
_NAMES = list(INPUTS)
TEXTS = _NAMES[_NAMES.index("literal of 900,000") : _NAMES.index("1,000 patterns")]
"""Those that are long rather than large."""
