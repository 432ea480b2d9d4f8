"""A TCP proxy in front of each broker: what stands between a job and Kafka when the network is at fault.

A proxy hands bytes on (`open`), hands them on late (`slow`), swallows them while connections stay up (`silent`: a
partition as a firewall makes it), or cuts every connection and refuses new ones (`cut`).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading

_CHUNK = 1 << 16
_LATE = 0.3
"""Seconds that a slow proxy keeps each piece for."""


class Proxies:
    """Proxies on loopback, all in one thread; one for each port that `add` is given."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._modes: list[str] = []
        self._connections: list[set[asyncio.StreamWriter]] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._modes)

    def add(self, target: int) -> int:
        """A proxy in front of a loopback port; the port that it listens on."""
        return asyncio.run_coroutine_threadsafe(self._listen(target), self._loop).result()

    def set(self, number: int, mode: str) -> None:
        """How a proxy behaves from now on."""
        self._loop.call_soon_threadsafe(self._set, number, mode)

    def close(self) -> None:
        """End all of them."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _set(self, number: int, mode: str) -> None:
        self._modes[number] = mode
        if mode == "cut":
            for writer in self._connections[number]:
                writer.transport.abort()

    async def _listen(self, target: int) -> int:
        number = len(self._modes)
        self._modes.append("open")
        self._connections.append(set())

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._connect(number, target, reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def _connect(
        self, number: int, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            if self._modes[number] == "cut":
                raise ConnectionRefusedError
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, there_writer}
        self._connections[number] |= both
        await asyncio.gather(self._pump(number, reader, there_writer), self._pump(number, there_reader, writer))
        self._connections[number] -= both

    async def _pump(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                while self._modes[number] == "silent":
                    await asyncio.sleep(0.05)
                if self._modes[number] == "slow":
                    await asyncio.sleep(_LATE)
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
