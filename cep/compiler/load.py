"""Read a file and everything it imports.

An `IMPORT` path is relative to the file that says it; for text that came from standard input or memory (a name in angle
brackets, or `-`) it is relative to the working directory. A file is loaded once however often it is imported, by
identity on disk, not by spelling. Only the *streams* of an imported file are visible: its patterns are parsed, so that
a syntax error in it is found, but not compiled. Imports are transitive.

Nothing here raises for what a user wrote: a file that is missing, unreadable, not UTF-8 or part of a cycle becomes a
diagnostic at the path literal, and loading goes on with the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from cep.diagnostics import Diagnostics
from cep.source import Source, Span
from cep.syntax import ast
from cep.syntax.parse import parse

STDIN = ("-", "<stdin>")
"""Names that mean standard input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A file to compile with the files it imports, directly or not, in the order they were first named.

    `sources` maps every file name that a span can carry to its text, the main file included.
    """

    source: Source
    file: ast.File
    imported: tuple[ast.File, ...]
    sources: dict[str, Source]


def load(source: Source, diagnostics: Diagnostics, texts: Mapping[str, str] | None = None) -> Unit:
    """Parse `source` and follow its imports, depth first. One parse per file; no limit on the depth of a chain.

    `texts` holds, by absolute path without links, files as an editor has them: they are not read from disk.
    """
    main = parse(source, diagnostics)
    identity = _identity(source.name)
    loaded = {identity}
    sources = {source.name: source}
    imported: list[ast.File] = []
    chain: list[tuple[str, str, Iterator[ast.Import]]] = [(identity, source.name, _imports(main))]
    while chain:
        _, importer, rest = chain[-1]
        statement = next(rest, None)
        if statement is None:
            chain.pop()
            continue
        name = _imported_name(importer, statement.path.value)
        identity = _identity(name)
        names_by_identity = [entry[0] for entry in chain]
        if identity in names_by_identity:
            links = [entry[1] for entry in chain[names_by_identity.index(identity) :]]
            diagnostics.error(
                "CEP0003",
                statement.path.span,
                f"`{importer}` imports itself" if len(links) == 1 else "files import each other in a circle",
                hint="move what both need into a file that imports neither",
                notes=["import chain: " + " -> ".join([*links, links[0]])],
            )
            continue
        if identity in loaded:
            continue
        loaded.add(identity)
        if texts is not None and identity in texts:
            text: Source | None = Source(name, texts[identity].removeprefix("\ufeff"))
        else:
            text = _read_import(name, statement, diagnostics)
        if text is None:
            continue
        sources[text.name] = text
        file = parse(text, diagnostics)
        imported.append(file)
        chain.append((identity, name, _imports(file)))
    return Unit(source=source, file=main, imported=tuple(imported), sources=sources)


def read_source(path: str, diagnostics: Diagnostics, at: Span | None = None) -> Source | None:
    """The text of a file (`-` reads standard input); None, and a diagnostic, where it cannot be had.

    The diagnostic stands at `at`, or at the start of the file itself. A byte order mark is dropped.
    """
    where = at if at is not None else Source(path, "").span(0, 0)
    try:
        data = sys.stdin.buffer.read() if path in STDIN else Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name no file system takes, such as one with a NUL in it
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        diagnostics.error(
            "CEP0001", where, f"cannot read `{path}`: {reason[:1].lower()}{reason[1:]}", hint=_near_files(path)
        )
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        diagnostics.error(
            "CEP0002",
            where,
            f"`{path}` is not UTF-8 text",
            hint="save the file as UTF-8",
            notes=[f"byte 0x{data[error.start]:02x} on line {line} (offset {error.start}) cannot be decoded"],
        )
        return None
    return Source("<stdin>" if path in STDIN else path, text.removeprefix("\ufeff"))


def _read_import(name: str, statement: ast.Import, diagnostics: Diagnostics) -> Source | None:
    path = Path(name)
    try:
        special = path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):
        special = False  # `read_source` says what is wrong with it
    if special:
        # A pipe or a device could block for ever or never end.
        diagnostics.error("CEP0001", statement.path.span, f"cannot import `{name}`: not a regular file")
        return None
    return read_source(name, diagnostics, statement.path.span)


def _imports(file: ast.File) -> Iterator[ast.Import]:
    return (statement for statement in file.statements if isinstance(statement, ast.Import))


def _in_memory(name: str) -> bool:
    return name in STDIN or (name.startswith("<") and name.endswith(">"))


def _identity(name: str) -> str:
    if _in_memory(name):
        return name
    try:
        return str(Path(name).resolve())
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of symbolic links
        return name


def _imported_name(importer: str, path: str) -> str:
    """The imported file's name as a user would type it, relative to where the importer's name is."""
    if _in_memory(importer):
        return path
    joined = str(Path(importer).parent / path)
    tidy = os.path.normpath(joined)
    # `dir/../x` is not `x` where `dir` is a symbolic link.
    return tidy if _identity(tidy) == _identity(joined) else joined


def _near_files(path: str) -> str | None:
    """A hint with the files of the same folder whose names are near, or else the `.cep` files there."""
    target = Path(path)
    try:
        names = sorted(entry.name for entry in target.parent.iterdir() if entry.is_file())
    except (OSError, ValueError):
        return f"there is no folder `{target.parent}`"
    near = get_close_matches(target.name, names, n=3, cutoff=0.6)
    if near:
        return "did you mean " + " or ".join(f"`{name}`" for name in near) + "?"
    patterns = [name for name in names if name.endswith(".cep")][:5]
    return "the folder has " + ", ".join(f"`{name}`" for name in patterns) if patterns else None
