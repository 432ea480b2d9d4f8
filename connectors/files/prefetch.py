"""Reading ahead in a thread: Arrow decodes the next block while the engine works on this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread

from connectors.files.piece import Piece

DEPTH = 2
_POLL = 0.1
_PATIENCE = 1.0
"""How long to wait for a thread to end: one that waits for a pipe is left behind."""

Indexed = tuple[int, Piece]


class Progress:
    """Bytes read of an input, for a progress bar.

    `check` is called whenever there is something new, and while waiting for it; it may raise to end the reading.
    """

    __slots__ = ("_done", "_file", "_in_file", "check")

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        self.check = check
        self._done = 0
        self._file = 0
        self._in_file = 0

    def reach(self, index: int, read: int) -> None:
        """So many bytes of a file were read."""
        if index != self._file:
            self._done += self._in_file
            self._file = index
        self._in_file = read
        self.check()

    @property
    def read(self) -> int:
        """Bytes of all files."""
        return self._done + self._in_file


def prefetch(pieces: Iterator[Indexed], progress: Progress | None = None) -> Iterator[Indexed]:
    """The same pieces, at most `DEPTH` of them read ahead. An error comes out where its piece would.

    Closing the generator ends the thread before the next piece is read.
    """
    queue: Queue[Indexed | BaseException | None] = Queue(DEPTH)
    stop = Event()

    def put(item: Indexed | BaseException | None) -> bool:
        while not stop.is_set():
            try:
                queue.put(item, timeout=_POLL)
            except Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for piece in pieces:
                if not put(piece):
                    return
            put(None)
        except BaseException as error:  # handed over to the thread that asked
            put(error)

    thread = Thread(target=read, name="cep-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item = queue.get(timeout=_POLL)
            except Empty:
                if progress is not None:
                    progress.check()
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            if progress is not None:
                progress.reach(item[0], item[1].read)
            yield item
    finally:
        stop.set()
        thread.join(timeout=_PATIENCE)
