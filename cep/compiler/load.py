"""Read a file and everything it imports.

An `IMPORT` path is relative to the file that says it; for text that came from standard input or memory (a name in angle
brackets, or `-`) it is relative to the working directory. A file is loaded once however often it is imported, by
identity on disk, not by spelling. Only the *streams* of an imported file are visible: its patterns are parsed, so that
a syntax error in it is found, but not compiled. Imports are transitive.

Imports stay inside the project: the nearest folder upwards of the main file that has one of `MARKERS`, else the main
file's own folder, unless another root is given. Links are followed before that is judged. Of a file outside nothing is
said, not even whether it exists; it is not opened. What is imported is a regular file of a sensible size (no pipe, no
device).

Nothing here raises for what a user wrote: a file that is missing, unreadable, too large, not UTF-8 or part of a cycle
becomes a diagnostic at the path literal, and loading goes on with the rest.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cep import limits
from cep.diagnostics import Diagnostics
from cep.ir import ast
from cep.nearby import similar_file
from cep.source import Source, Span
from cep.syntax.lex import TokenRoom
from cep.syntax.parse import parse

STDIN = ("-", "<stdin>")
"""Names that mean standard input."""

MARKERS = (".git", "cep.toml", "job.toml", "pyproject.toml")
"""What the top folder of a project has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A file to compile with the files it imports, directly or not, in the order they were first named.

    `sources` maps every file name that a span can carry to its text, the main file included.
    """

    source: Source
    file: ast.File
    imported: tuple[ast.File, ...]
    sources: dict[str, Source]


def project_root(name: str) -> Path:
    """The folder that imports of a file must not leave; for text that has no file, as if it were in the working one."""
    return marked_root(name) or _folder(name)


def marked_root(name: str) -> Path | None:
    """The nearest folder upwards that is the top of a project; where a link leads to the file, also from its target."""
    if "\0" in name:
        return None
    folder = _folder(name)
    for start in (folder, Path(_identity(os.fspath(folder))), Path(_identity(name)).parent):
        for top in (start, *start.parents):
            if any(os.path.lexists(top / marker) for marker in MARKERS):
                return top
    return None


def _folder(name: str) -> Path:
    return Path.cwd() if _in_memory(name) else Path(os.path.abspath(name)).parent  # noqa: PTH100 - links stay links


def load(
    source: Source,
    diagnostics: Diagnostics,
    texts: Mapping[str, str] | None = None,
    import_root: str | os.PathLike[str] | None = None,
) -> Unit:
    """Parse `source` and follow its imports, depth first. One parse per file; no limit on the depth of a chain.

    `texts` holds, by absolute path without links, files as an editor has them: they are not read from disk.
    `import_root` is the folder that imports stay in, by default `project_root`.
    """
    room = TokenRoom()
    main = parse(source, diagnostics, room)
    root = project_root(source.name) if import_root is None else Path(import_root)
    root_identity = _identity(os.fspath(root))
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
        if not _inside(identity, root_identity):
            _outside(statement, root, diagnostics)
            continue
        if len(loaded) > limits.FILES:
            diagnostics.error(
                "CEP0108",
                statement.path.span,
                f"more than {limits.FILES} files are imported",
                hint="put streams that belong together into one file",
            )
            break
        if texts is not None and identity in texts:
            text: Source | None = Source(name, texts[identity].removeprefix("\ufeff"))
        else:
            text = _read_import(name, identity, statement, diagnostics)
        if text is None:
            continue
        sources[text.name] = text
        file = parse(text, diagnostics, room)
        imported.append(file)
        chain.append((identity, name, _imports(file)))
    return Unit(source=source, file=main, imported=tuple(imported), sources=sources)


def read_source(path: str, diagnostics: Diagnostics, name: str | None = None) -> Source | None:
    """The text of a file (`-` reads standard input); None, and a diagnostic, where it cannot be had.

    `name` is what the file is called in findings, by default its path. A pipe is read to its end, and nothing is read
    further than a file may be long. A byte order mark is dropped.
    """
    name = name or ("<stdin>" if path in STDIN else path)
    where = Source(name, "").span(0, 0)
    try:
        if path in STDIN:
            data = sys.stdin.buffer.read(limits.FILE_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(limits.FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        _unreadable(name, path, path, error, where, diagnostics)
        return None
    return _decoded(name, data, where, diagnostics)


def _read_import(name: str, identity: str, statement: ast.Import, diagnostics: Diagnostics) -> Source | None:
    where = statement.path.span
    try:
        # A pipe or a device could block for ever or never end: looked at before it is read, opened without waiting.
        handle = os.open(identity, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                diagnostics.error(
                    "CEP0001", where, f"cannot import `{name}`: not a regular file", hint="name a file of patterns"
                )
                return None
            data = file.read(limits.FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        _unreadable(name, name, statement.path.value, error, where, diagnostics)
        return None
    return _decoded(name, data, where, diagnostics)


def _unreadable(
    name: str, path: str, typed: str, error: OSError | ValueError, where: Span, diagnostics: Diagnostics
) -> None:
    # ValueError: a name no file system takes, such as one with a NUL in it.
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    diagnostics.error(
        "CEP0001", where, f"cannot read `{name}`: {reason[:1].lower()}{reason[1:]}", hint=_near_files(path, typed)
    )


def _decoded(name: str, data: bytes, where: Span, diagnostics: Diagnostics) -> Source | None:
    if len(data) > limits.FILE_BYTES:
        diagnostics.error(
            "CEP0108",
            where,
            f"`{name}` is longer than {limits.FILE_BYTES:,} bytes",
            hint="split it into several files",
        )
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        diagnostics.error(
            "CEP0002",
            where,
            f"`{name}` is not UTF-8 text",
            hint="save the file as UTF-8",
            notes=[f"byte 0x{data[error.start]:02x} on line {line} (offset {error.start}) cannot be decoded"],
        )
        return None
    return Source(name, text.removeprefix("\ufeff"))


def _inside(identity: str, root: str) -> bool:
    try:
        return Path(identity).is_relative_to(root)
    except ValueError:
        return False


def _outside(statement: ast.Import, root: Path, diagnostics: Diagnostics) -> None:
    diagnostics.error(
        "CEP0004",
        statement.path.span,
        "this import leaves the project",
        hint=f"imports stay inside `{root}`; --import-root names another folder",
    )


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
        return os.path.abspath(name) if "\0" not in name else name  # noqa: PTH100 - it has no other identity


def _imported_name(importer: str, path: str) -> str:
    """The imported file's name as a user would type it, relative to where the importer's name is."""
    if _in_memory(importer):
        return path
    joined = str(Path(importer).parent / path)
    tidy = os.path.normpath(joined)
    # `dir/../x` is not `x` where `dir` is a symbolic link.
    return tidy if _identity(tidy) == _identity(joined) else joined


def _near_files(path: str, typed: str) -> str | None:
    """A hint with the file of the same folder whose name is near, or else the `.cep` files there."""
    try:
        if (near := similar_file(path, typed)) is not None:
            return near
        names = sorted(entry.name for entry in Path(path).parent.iterdir() if entry.is_file())
    except (OSError, ValueError):
        return None
    patterns = [name for name in names if name.endswith(".cep")][:5]
    return "the folder has " + ", ".join(f"`{name}`" for name in patterns) if patterns else None
