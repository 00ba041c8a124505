"""Who is let in: only one who has the address with its token, from the loopback interface by its own name."""

import re

import pytest
from starlette.testclient import TestClient

from pipeline.viewer.access import Access
from tests.pipeline.viewer.conftest import PORT, make_client, opened
from tests.pipeline.viewer.shelf import Shelf

ROUTES = [
    "/", "/document/1", "/pages", "/search?q=a", "/look", "/page/1", "/page/1/image", "/static/viewer.js",
]  # fmt: skip


@pytest.mark.parametrize("route", [*ROUTES, "/nothing"])
def test_nothing_is_shown_without_the_token(shelf: Shelf, access: Access, route: str) -> None:
    client = make_client(shelf, access)
    assert client.get(route).status_code == 403
    client.cookies.set(access.cookie, "a" * 43)
    assert client.get(route).status_code == 403
    assert client.get(f"{route}?token={access.token}".replace("?q=a?", "?")).status_code == 403
    for token in ("wrong", "é", "a" * 10_000, ""):
        assert client.post("/enter", data={"token": token}).status_code == 403


def test_the_file_s_form_makes_the_token_a_cookie(shelf: Shelf, access: Access) -> None:
    client = make_client(shelf, access)
    action, token = re.findall(r'action="([^"]+)"|value="([^"]+)"', access.door)
    answer = client.post(action[0], data={"token": token[1]}, headers={"origin": "null"})
    assert answer.status_code == 200
    assert "url=/" in answer.text
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/page/1").status_code == 200


def test_two_readers_have_two_tokens_and_two_cookies() -> None:
    one, other = Access(1), Access(2)
    assert one.token != other.token
    assert one.cookie != other.cookie
    assert one.form_token not in (one.token, other.form_token)


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", "192.168.1.2:8123"]
)
def test_a_name_made_to_lead_here_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 421


def test_its_own_names_are_not(shelf: Shelf, access: Access, client: TestClient) -> None:
    assert client.get("/", headers={"host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.parametrize("route", [*ROUTES, "/nothing"])
def test_every_answer_has_the_headers(client: TestClient, route: str) -> None:
    if route.endswith("/image"):
        pytest.skip("needs the processes that draw")
    headers = client.get(route).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def form(access: Access, **changes: str) -> dict[str, str]:
    return {"form_token": access.form_token, "attempt": "1", "name": "ada", "text": "new words", **changes}


@pytest.mark.parametrize("token", ["", "wrong", "é"])
@pytest.mark.parametrize("what", ["correct", "withdraw"])
def test_a_form_of_another_page_changes_nothing(
    client: TestClient, access: Access, what: str, token: str
) -> None:
    """Not even with the cookie, which a browser sends along."""
    answer = client.post(f"/page/1/{what}", data=form(access, form_token=token))
    assert answer.status_code == 403
    assert "new words" not in client.get("/page/1").text


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"]
)
def test_a_request_from_another_origin_changes_nothing(
    client: TestClient, access: Access, origin: str
) -> None:
    answer = client.post("/page/1/correct", data=form(access), headers={"origin": origin})
    assert answer.status_code == 403


def test_an_own_form_is_taken(client: TestClient, access: Access) -> None:
    origin = {"origin": f"http://127.0.0.1:{PORT}"}
    assert client.post("/page/1/correct", data=form(access), headers=origin).status_code == 303
    assert ">new</span> <" in client.get("/page/1").text


def test_a_reader_that_may_only_read_does(shelf: Shelf, access: Access) -> None:
    client = opened(make_client(shelf, access, read_only=True), access)
    assert client.post("/page/1/correct", data=form(access)).status_code == 403
    assert client.post("/page/1/withdraw", data=form(access)).status_code == 403
    page = client.get("/page/1").text
    assert '<form id="correction"' not in page
    assert "Correct" not in page
