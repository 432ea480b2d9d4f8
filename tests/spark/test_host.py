"""Engine hosts: whom they talk to, what they accept, and what becomes of a worker that meets another kind of host."""

from __future__ import annotations

import json
import os
import pickle
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cep
from runtime.spark.state import cache, frames, host, plan_codec
from tests.conftest import ROOT
from tests.spark.helpers import CARD, JOB, compiled

JOB_ID = "0123456789abcdef"
PLANS = compiled(JOB)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for sockets, whose name fits one."""
    with tempfile.TemporaryDirectory(prefix="c", ignore_cleanup_errors=True) as name:
        monkeypatch.setattr(host.tempfile, "gettempdir", lambda: name)
        yield Path(name)


@pytest.fixture
def served(short: Path) -> Iterator[Path]:
    """A host in a thread of this process; ends when its parent, a process of the test, does."""
    import subprocess
    import sys

    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    path = short / "d" / "1"
    frames.private_directory(path.parent)
    thread = threading.Thread(target=host.serve, args=(path, parent.pid))
    thread.start()
    yield path
    parent.communicate(b"\n")
    thread.join(60)
    assert not thread.is_alive()
    assert not path.exists()


def connected(path: Path) -> socket.socket:
    while True:
        connection = host._try(path)
        if connection is not None:
            return connection


def hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def is_hosted() -> bool:
    engines = host.engines(JOB_ID, 1, {}, cache.new_engine)
    engines.close()
    return isinstance(engines, host.HostedEngines)


class TestTheDirectory:
    def test_is_made_for_us_alone(self, short: Path) -> None:
        assert is_hosted()
        directory = host._directory(JOB_ID)
        assert directory.parent == short
        assert directory.stat().st_mode & 0o777 == 0o700
        assert all(file.stat().st_mode & 0o077 == 0 for file in directory.iterdir() if not file.is_socket())

    def test_a_link_is_not_followed(self, short: Path) -> None:
        target = short / "elsewhere"
        target.mkdir(mode=0o700)
        host._directory(JOB_ID).symlink_to(target)
        assert not is_hosted()
        assert list(target.iterdir()) == []

    def test_others_must_not_be_able_to_enter_it(self, short: Path) -> None:
        del short
        host._directory(JOB_ID).mkdir(mode=0o755)
        assert not is_hosted()

    def test_it_must_be_ours(self, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        frames.private_directory(short / "d")
        monkeypatch.setattr(frames.os, "getuid", lambda: short.stat().st_uid + 1)
        with pytest.raises(PermissionError):
            frames.private_directory(short / "d")

    def test_others_must_not_be_able_to_exchange_it(self, short: Path) -> None:
        short.chmod(0o777)
        assert not is_hosted()
        short.chmod(0o1777)
        assert is_hosted()

    def test_a_log_that_is_a_link_is_not_written_through(self, short: Path) -> None:
        frames.private_directory(host._directory(JOB_ID))
        victim = short / "victim"
        victim.write_text("precious")
        (host._directory(JOB_ID) / "1.log").symlink_to(victim)
        assert not is_hosted()
        assert victim.read_text() == "precious"


class TestTheOtherEnd:
    def test_must_belong_to_the_same_user(self, monkeypatch: pytest.MonkeyPatch) -> None:
        one, other = socket.socketpair()
        with one, other:
            frames.check_peer(one)
            monkeypatch.setattr(frames.os, "getuid", lambda: os.geteuid() + 1)
            with pytest.raises(PermissionError, match="belongs to user"):
                frames.check_peer(one)

    def test_is_asked_for_by_worker_and_host(self, served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with connected(served) as connection:
            host.HostedEngines(connection, {}).close()
        asked: list[str] = []
        monkeypatch.setattr(frames, "check_peer", lambda _: asked.append(threading.current_thread().name))
        with connected(served) as connection:
            host.HostedEngines(connection, {}).close()
        assert len(set(asked)) == 2

    def test_that_says_nothing_is_not_waited_for(self, served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(host, "_HELLO", 0.2)
        with connected(served) as silent, connected(served) as other:
            engines = host.HostedEngines(other, {})
            assert engines.position((JOB_ID, 1, "p", 0)) is None
            engines.close()
            assert hung_up(silent)

    def test_that_does_not_answer_makes_the_worker_keep_its_engines(
        self, short: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        del short
        directory = host._directory(JOB_ID)
        frames.private_directory(directory)
        monkeypatch.setattr(host, "_WELCOME", 0.2)
        with socket.socket(socket.AF_UNIX) as mute:
            mute.bind(str(directory / "1"))
            mute.listen(1)
            assert not is_hosted()


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


class TestMessages:
    def test_a_pickle_is_not_opened(self, served: Path, short: Path) -> None:
        bomb = pickle.dumps(Bomb(str(short / "boom")))
        old = struct.Struct("<Q")
        for message in (
            old.pack(len(bomb)) + old.pack(0) + bomb,
            frames._FRAME.pack(frames._MAGIC, len(bomb), 0) + bomb,
        ):
            with connected(served) as connection:
                connection.sendall(message)
                assert hung_up(connection)
        assert not (short / "boom").exists()
        assert "pickle" not in Path(host.__file__).read_text().replace("unpickle", "")

    @pytest.mark.parametrize("sizes", [(1 << 31, 0), (2, 1 << 62)])
    def test_a_size_beyond_all_bounds_is_refused_before_it_is_read(self, sizes: tuple[int, int]) -> None:
        one, other = socket.socketpair()
        with one, other:
            one.sendall(frames._FRAME.pack(frames._MAGIC, *sizes))
            with pytest.raises(ConnectionError, match="expected a message"):
                frames.receive(other)

    def test_what_is_too_large_is_not_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(frames, "PAYLOAD_LIMIT", 3)
        one, other = socket.socketpair()
        with one, other, pytest.raises(ValueError, match="too large"):
            frames.send(one, {}, b"1234")

    def test_arrive_whole(self) -> None:
        one, other = socket.socketpair()
        with one, other:
            frames.send(one, {"value": [1, None, "é"]}, b"\0" * 1000)
            assert frames.receive(other) == ({"value": [1, None, "é"]}, b"\0" * 1000)

    def test_a_failure_in_a_host_is_the_workers(self, served: Path) -> None:
        engines = host.HostedEngines(connected(served), {"Trans": "ts"})
        (plan,) = compiled(CARD)
        key = (JOB_ID, 1, plan.layout, 0)
        engines.create(key, plan, cache.Position(0, 0, 0))
        with pytest.raises(host.HostError, match="expected a log entry of this program"):
            list(engines.feed(key, 0, 1, None, b"no log entry", emit=True))
        with pytest.raises(host.HostError, match="KeyError"):
            list(engines.feed(key, 0, 1, None, b"", emit=True))
        engines.close()

    def test_a_host_that_has_gone_is_named(self) -> None:
        one, other = socket.socketpair()
        threading.Thread(target=lambda: (frames.receive(other), frames.send(other, {"value": None}))).start()
        engines = host.HostedEngines(one, {})
        other.close()
        with pytest.raises(host.HostLostError, match="has ended"):
            engines.position((JOB_ID, 1, "p", 0))
        engines.close()


class TestPlansAsText:
    @pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.pattern)
    def test_come_back_as_they_were(self, plan: Any) -> None:
        back = plan_codec.decode(json.loads(json.dumps(plan_codec.encode(plan))))
        assert back == plan
        assert (back.meaning, back.layout) == (plan.meaning, plan.layout)

    def test_those_of_the_whole_corpus_too(self) -> None:
        count = 0
        for file in sorted((ROOT / "tests" / "corpus").rglob("pattern.cep")):
            if (file.parent / "expected.err").exists():
                continue
            for plan in cep.compile_file(str(file)).values():
                assert plan_codec.decode(json.loads(json.dumps(plan_codec.encode(plan)))) == plan
                count += 1
        assert count > 20

    def test_deep_expressions_need_no_deep_recursion(self) -> None:
        total = " + ".join(["a.amnt"] * 150)
        text = (
            CARD[: CARD.index("PATTERN")] + f"PATTERN P SEQ(Trans a, Trans b) WHERE {total} > b.amnt WITHIN 1 MINUTE;"
        )
        (plan,) = compiled(text)
        nodes = json.loads(json.dumps(plan_codec.encode(plan)))
        assert plan_codec.decode(nodes) == plan

    @pytest.mark.parametrize(
        "nodes",
        [
            [],
            [["tuple", 1]],
            [["Popen", "true"]],
            [["Plan", 1, 2]],
            [["tuple", [7]]],
            [["Type", "NOTHING"]],
        ],
    )
    def test_anything_else_is_refused(self, nodes: Any) -> None:
        with pytest.raises(ValueError, match="expected the nodes of a plan"):
            plan_codec.decode(nodes)
