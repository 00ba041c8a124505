from pathlib import Path

import pytest

pytest.importorskip("httpx2")

from starlette.testclient import TestClient

from pipeline.viewer.access import Access
from pipeline.viewer.app import Settings, make_app
from tests.pipeline.viewer.shelf import Shelf, make_shelf

PORT = 8123
BASE = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return make_shelf(tmp_path / "shelf")


@pytest.fixture
def access() -> Access:
    return Access(PORT)


@pytest.fixture
def client(shelf: Shelf, access: Access) -> TestClient:
    """A browser that opened the address; the processes that draw are not started."""
    return opened(make_client(shelf, access), access)


def make_client(shelf: Shelf, access: Access, *, read_only: bool = False) -> TestClient:
    app = make_app(Settings(database=shelf.database, read_only=read_only), access)
    return TestClient(app, base_url=BASE, follow_redirects=False)


def opened(client: TestClient, access: Access) -> TestClient:
    assert client.post("/enter", data={"token": access.token}).status_code == 200
    return client
