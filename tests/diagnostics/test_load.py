"""Files and what they import."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from passes import judge

from cep.compiler.load import load, read_source
from cep.diagnostics import Diagnostics
from cep.source import Source

STREAM = "STREAM T (ts TIMESTAMP, n INT) TIMESTAMP BY ts;\n"
USE = "PATTERN P SEQ(T a) WITHIN 1 HOUR;\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".cep")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def source(folder: Path, name: str = "main.cep") -> Source:
    path = folder / name
    return Source(str(path), path.read_text(encoding="utf-8"))


def found(folder: Path) -> list[str]:
    return [item.code for item in judge(source(folder))[1].sorted()]


def test_streams_of_an_imported_file_are_visible(tmp_path: Path) -> None:
    write(tmp_path, main="IMPORT 'lib/streams.cep';\n" + USE, lib__streams=STREAM)
    patterns, diagnostics = judge(source(tmp_path))
    assert [pattern.name for pattern in patterns] == ["P"]
    assert list(diagnostics) == []


def test_imports_are_relative_to_the_file_that_says_them(tmp_path: Path) -> None:
    write(tmp_path, main="IMPORT 'lib/a.cep';\n" + USE, lib__a="IMPORT '../other/b.cep';\n", other__b=STREAM)
    assert found(tmp_path) == []
    unit = load(source(tmp_path), Diagnostics())
    assert sorted(unit.sources) == sorted(str(tmp_path / p) for p in ("main.cep", "lib/a.cep", "other/b.cep"))


def test_patterns_of_an_imported_file_are_not_compiled(tmp_path: Path) -> None:
    library = STREAM + "PATTERN P SEQ(Nowhere a) WITHIN 1 HOUR;\n"
    write(tmp_path, main="IMPORT 'lib.cep';\n" + USE, lib=library)
    patterns, diagnostics = judge(source(tmp_path))
    assert len(patterns) == 1
    assert list(diagnostics) == []


def test_a_file_that_two_files_import_is_loaded_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="IMPORT 'a.cep';\nIMPORT 'b.cep';\nIMPORT './x/../s.cep';\n" + USE,
        a="IMPORT 's.cep';\n",
        b="IMPORT 's.cep';\n",
        s=STREAM,
        x__y="",
    )
    assert found(tmp_path) == []
    assert len(load(source(tmp_path), Diagnostics()).imported) == 3


def test_a_circle_is_reported_with_its_chain_and_the_rest_goes_on(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="IMPORT 'a.cep';\n" + USE,
        a="IMPORT 'b.cep';\n",
        b="IMPORT 'c.cep';\nIMPORT 'a.cep';\n",
        c=STREAM,
    )
    (item,) = judge(source(tmp_path))[1]
    assert (item.code, item.span.file, item.span.line, item.span.column) == ("CEP0003", str(tmp_path / "b.cep"), 2, 8)
    a, b = tmp_path / "a.cep", tmp_path / "b.cep"
    assert item.notes == (f"import chain: {a} -> {b} -> {a}",)


def test_a_circle_through_siblings_is_found(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="IMPORT 'a.cep';\nIMPORT 'b.cep';\n" + STREAM + USE,
        a="IMPORT 'b.cep';\n",
        b="IMPORT 'a.cep';\n",
    )
    assert found(tmp_path) == ["CEP0003"]


def test_a_missing_file_offers_near_names(tmp_path: Path) -> None:
    write(tmp_path, main="IMPORT 'stream.cep';\n" + USE, streams=STREAM)
    (item,) = judge(source(tmp_path))[1]
    assert item.code == "CEP0001"
    assert item.hint == "did you mean `streams.cep`?"
    assert (item.span.line, item.span.column, item.span.end_column) == (1, 8, 20)


@pytest.mark.parametrize("name", ["lib", "bad\0name.cep", "x" * 5000, "nowhere/at/all.cep"])
def test_what_is_no_file_is_a_finding(tmp_path: Path, name: str) -> None:
    (tmp_path / "lib").mkdir()
    diagnostics = Diagnostics()
    load(Source(str(tmp_path / "main.cep"), f"IMPORT '{name}';\n"), diagnostics)
    assert [item.code for item in diagnostics][:1] in (["CEP0001"], ["CEP0102"])


def test_a_device_is_not_imported() -> None:
    diagnostics = Diagnostics()
    load(Source("<string>", "IMPORT '/dev/zero';\n"), diagnostics, import_root="/")
    assert [(item.code, item.message) for item in diagnostics] == [
        ("CEP0001", "cannot import `/dev/zero`: not a regular file")
    ]


def test_a_pipe_is_not_imported_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cep")
    write(tmp_path, main="IMPORT 'pipe.cep';\n")
    (item,) = judge(source(tmp_path))[1]
    assert (item.code, item.message) == (
        "CEP0001",
        f"cannot import `{tmp_path / 'pipe.cep'}`: not a regular file",
    )


def test_a_finding_in_an_imported_file_carries_its_name(tmp_path: Path) -> None:
    write(tmp_path, main="IMPORT 'lib.cep';\nPATTERN P SEQ(T a) WHERE a.x = 1 WITHIN 1 HOUR;\n")
    write(tmp_path, lib="\nSTREAM T (ts TIMESTAMP, n INT, x TEXT) TIMESTAMP BY ts;\n")
    (item,) = judge(source(tmp_path))[1]
    assert (item.code, item.span.file, item.span.line) == ("CEP0211", str(tmp_path / "lib.cep"), 2)


def test_a_stream_that_is_imported_and_declared_is_declared_twice(tmp_path: Path) -> None:
    write(tmp_path, main="IMPORT 'lib.cep';\n" + STREAM + USE, lib=STREAM)
    (item,) = judge(source(tmp_path))[1]
    assert (item.code, item.span.file) == ("CEP0205", str(tmp_path / "main.cep"))
    assert [label.span.file for label in item.labels] == [str(tmp_path / "lib.cep")]


def test_a_long_chain_of_imports_is_followed(tmp_path: Path) -> None:
    for i in range(1500):
        (tmp_path / f"f{i}.cep").write_text(f"IMPORT 'f{i + 1}.cep';\n", encoding="utf-8")
    write(tmp_path, f1500=STREAM, main="IMPORT 'f0.cep';\n" + USE)
    assert found(tmp_path) == []


def test_standard_input_imports_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, lib=STREAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"IMPORT 'lib.cep';\n" + USE.encode())))
    diagnostics = Diagnostics()
    text = read_source("-", diagnostics)
    assert text is not None
    assert text.name == "<stdin>"
    assert len(judge(text)[0]) == 1


def test_reading_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    (tmp_path / "latin1.cep").write_bytes(b"\n\n-- Z\xfcrich\n")
    (tmp_path / "bom.cep").write_bytes(b"\xef\xbb\xbf" + STREAM.encode())
    diagnostics = Diagnostics()
    assert read_source(str(tmp_path / "none.cep"), diagnostics) is None
    assert read_source(str(tmp_path / "latin1.cep"), diagnostics) is None
    bom = read_source(str(tmp_path / "bom.cep"), diagnostics)
    assert bom is not None
    assert bom.text == STREAM
    missing, encoded = diagnostics
    assert (missing.code, encoded.code) == ("CEP0001", "CEP0002")
    assert encoded.notes == ("byte 0xfc on line 3 (offset 6) cannot be decoded",)
