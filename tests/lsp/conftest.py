from __future__ import annotations

import pytest

from tests.lsp.client import Client


@pytest.fixture(scope="session")
def _server(tmp_path_factory):
    client = Client(tmp_path_factory.mktemp("lsp"))
    yield client
    client.kill()


@pytest.fixture
def editor(_server, tmp_path):
    """A session with no open document in an empty folder; all tests share the process, as all files of an editor do."""
    _server.folder = tmp_path
    _server.notices.clear()
    yield _server
    _server.close_all()
    assert _server.process.poll() is None
