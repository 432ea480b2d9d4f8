"""The directory that executors and driver share for staged matches, in memory: it can fill up, and be seen to age."""

from __future__ import annotations

import errno
import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

if TYPE_CHECKING:
    from tests.simulation.world import World


class _Sink(io.BytesIO):
    """A file that is being written: it is there, whole, when it is closed."""

    def __init__(self, staging: Staging, path: str) -> None:
        super().__init__()
        self.staging, self.path = staging, path

    def write(self, data: Any) -> int:
        return self.staging.effect("stage", lambda: super(_Sink, self).write(data))

    def close(self) -> None:
        if not self.closed and not self.staging.world.current.dead:
            self.staging.files[self.path] = (self.getvalue(), self.staging.world.clock.wall)
        super().close()


class Staging(fs.FileSystemHandler):  # type: ignore[misc]  # pyarrow has no types
    """`files` are contents and times of writing, by the clock of the one who wrote."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.files: dict[str, tuple[bytes, float]] = {}

    def effect(self, what: str, action: Any) -> Any:
        return self.world.current.disk(what, action)

    def get_type_name(self) -> str:
        return "simulated"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        return [self._info(path) for path in self.files if path.startswith(selector.base_dir)]

    def _info(self, path: str) -> fs.FileInfo:
        if path not in self.files:
            return fs.FileInfo(path, fs.FileType.NotFound)
        content, written = self.files[path]
        return fs.FileInfo(path, fs.FileType.File, size=len(content), mtime_ns=int(written * 1e9))

    def create_dir(self, path: str, recursive: bool) -> None:
        """Directories need no making here."""

    def delete_dir(self, path: str) -> None:
        raise NotImplementedError

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        self.effect("delete staged", lambda: self.files.pop(path, None))

    def move(self, src: str, dest: str) -> None:
        raise NotImplementedError

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError

    def open_input_stream(self, path: str) -> pa.NativeFile:
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return pa.BufferReader(self.effect("read staged", lambda: self.files[path][0]))

    open_input_file = open_input_stream

    def open_output_stream(self, path: str, metadata: object) -> pa.NativeFile:  # noqa: ARG002 - as pyarrow calls it
        return pa.PythonFile(self.effect("stage", lambda: _Sink(self, path)), mode="w")

    open_append_stream = open_output_stream
