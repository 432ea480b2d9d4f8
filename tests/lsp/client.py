"""An editor, as small as can be: JSON-RPC over the pipes of a real `cep lsp` process."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 120
"""Seconds after which an answer is taken never to come: the machine may be busy."""


class Client:
    def __init__(self, folder, **capabilities):
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cep.cli", "lsp", "--stdio"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.errors = []
        self.messages = queue.Queue()
        self.published = {}
        self.notices = []
        self.next_id = 0
        self.versions = {}
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()
        self.initialized = self.ask(
            "initialize", processId=None, rootUri=folder.as_uri(), capabilities=capabilities, workspaceFolders=None
        )
        self.tell("initialized")

    def _read(self):
        out = self.process.stdout
        while True:
            length = None
            while (line := out.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if length is None:
                self.messages.put(None)
                return
            self.messages.put(json.loads(out.read(length)))

    def _send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _next(self):
        message = self.messages.get(timeout=PATIENCE)
        assert message is not None, "the server has died:\n" + b"".join(self.errors).decode()
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published[message["params"]["uri"]] = message["params"]
        elif "method" in message:
            self.notices.append(message)
        return message

    def tell(self, method, **params):
        self._send({"method": method, "params": params})

    def ask(self, method, **params):
        self.next_id += 1
        number = self.next_id
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == number and "method" not in message:
                assert "error" not in message, message["error"]
                return message["result"]

    # --- documents ---

    def uri(self, name):
        return name if name.startswith(("file:", "untitled:")) else (self.folder / name).as_uri()

    def open(self, name, text, *, wait=True):
        uri = self.uri(name)
        self.published.pop(uri, None)
        self.versions[uri] = 1
        item = {"uri": uri, "languageId": "cep", "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=item)
        return self.diagnostics(name, 1) if wait else None

    def change(self, name, text, *, wait=True):
        uri = self.uri(name)
        self.versions[uri] += 1
        version = self.versions[uri]
        self.tell(
            "textDocument/didChange",
            textDocument={"uri": uri, "version": version},
            contentChanges=[{"text": text}],
        )
        return self.diagnostics(name, version) if wait else None

    def close(self, name):
        uri = self.uri(name)
        del self.versions[uri]
        self.tell("textDocument/didClose", textDocument={"uri": uri})

    def close_all(self):
        for uri in list(self.versions):
            self.close(uri)
        self.ask("textDocument/documentSymbol", textDocument={"uri": self.uri("nothing.cep")})
        self.published.clear()

    def diagnostics(self, name, version=None):
        """Wait for the findings of this version of a file (any, for None)."""
        uri = self.uri(name)
        while uri not in self.published or self.published[uri].get("version") != version:
            self._next()
        return self.published[uri]["diagnostics"]

    def until(self, condition):
        while not condition():
            self._next()

    def at(self, method, name, line, character, **more):
        where = {"textDocument": {"uri": self.uri(name)}, "position": {"line": line, "character": character}}
        return self.ask(f"textDocument/{method}", **where, **more)

    def leave(self):
        self.ask("shutdown")
        self._send({"method": "exit"})
        status = self.process.wait(PATIENCE)
        self.kill()
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


def cursor(text, mark="|"):
    """A text without its mark, and the position (UTF-16) of the mark."""
    before, _, after = text.partition(mark)
    line = before.count("\n")
    character = len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
    return before + after, (line, character)
