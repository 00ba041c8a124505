"""What each route shows; texts, names and messages of documents are text, whatever is in them."""

import io
import re
import sqlite3
from contextlib import closing
from html import unescape

import pytest
from PIL import Image
from starlette.testclient import TestClient

from pipeline.viewer.access import Access
from storage.database import open_for_reading
from storage.export.rows import PageRow, export_rows
from tests.pipeline.viewer.conftest import make_client, opened
from tests.pipeline.viewer.shelf import LETTER, Shelf
from tests.storage.sample_records import a_page, a_run, rows

WORD = re.compile(r'<span class="w ?(\w*)"(?: data-box="([\d ]+)")?(?: title="(\d+)%")?>([^<]*)</span>')


def content(html: str) -> str:
    """Returns what a reader sees, roughly."""
    return unescape(re.sub(r"<[^>]*>", "", html.split("<main>")[1].split("</main>")[0]))


def row(shelf: Shelf, number: int = 0) -> PageRow:
    with open_for_reading(shelf.database) as db:
        found = [page for page in export_rows(db) if page["path"] == str(shelf.letter)]
    return found[number]


def fields(client: TestClient, access: Access, **changes: str) -> dict[str, str]:
    return {"form_token": access.form_token, "attempt": "1", "name": "ada", "text": "", **changes}


def test_documents_are_listed_with_counts(client: TestClient, shelf: Shelf) -> None:
    shown = content(client.get("/").text)
    assert "3 documents" in shown
    assert str(shelf.letter) in shown
    assert re.search(r"letter <b>\.pdf\s*2\s*ok 1\s+failed 1", shown)
    for name in ("ok 2", "doubtful 1", "failed 1"):
        assert name in shown


def test_a_document_lists_its_pages(client: TestClient) -> None:
    shown = content(client.get("/document/1").text)
    assert re.search(r"page 1\s+ok\s+90%\s+Dear Mr. Quill", shown)
    assert re.search(r"page 2\s+failed\s+took over 60 s", shown)
    assert client.get("/document/99").status_code == 404


@pytest.mark.parametrize(
    ("status", "ids"),
    [("look", ["2", "3"]), ("ok", ["1", "4"]), ("doubtful", ["3"]), ("corrected", []), ("truncated", [])],
)
def test_pages_are_filtered_by_status(client: TestClient, status: str, ids: list[str]) -> None:
    html = client.get(f"/pages?status={status}").text
    assert re.findall(r'class="entry" href="/page/(\d+)"', html) == ids
    assert client.get("/pages?status=nonsense").status_code == 404


def test_a_search_finds_pages_and_marks_the_matches(client: TestClient) -> None:
    html = client.get("/search?q=rudder").text
    assert re.findall(r'class="entry" href="/page/(\d+)\?q=rudder"', html) == ["1"]
    assert "the <mark>rudder</mark> is bent" in html
    assert "1 page with" in content(html)
    assert "0 pages with" in content(client.get("/search?q=rudder&status=failed").text)


@pytest.mark.parametrize("query", ["", '"', "*", "a AND", "NEAR(", "col:x", "-x", "\x00", "😀", "x" * 3000])
def test_any_query_is_answered(client: TestClient, query: str) -> None:
    assert client.get("/search", params={"q": query, "from": "nonsense"}).status_code == 200


def test_a_page_shows_its_words_with_boxes_and_confidence(client: TestClient) -> None:
    html = client.get("/page/1").text
    words = WORD.findall(html)
    assert [word for *_, word in words] == LETTER.split()
    assert words[0] == ("low", "80 100 130 130", "40", "Dear")
    assert [level for level, *_ in words] == ["low"] * 5 + ["fair"] * 2
    assert 'data-width="600" data-height="800"' in html
    assert "# Dear Mr. Quill,\n\nthe rudder is **bent**" in html
    assert 'id="next" rel="next" href="/page/2"' in html
    assert 'href="/look?after=1"' in html


def test_a_page_shows_its_blocks_in_order(client: TestClient, shelf: Shelf) -> None:
    with closing(sqlite3.connect(shelf.database)) as db, db:
        for at, (label, x0) in enumerate([("sub_title", 80), ("<b>", 90), ("text", None)]):
            box = (None,) * 4 if x0 is None else (x0, 100, x0 + 200, 130)
            db.execute("INSERT INTO blocks VALUES (1, ?, ?, ?, ?, ?, ?, 'x', NULL)", (at, label, *box))
    (drawn,) = re.findall(
        r'<svg class="order" viewBox="0 0 600 800".*?</svg>', client.get("/page/1").text, re.DOTALL
    )
    assert '<g class="heading"><path d="M80 100H280V130H80Z"/>' in drawn
    assert re.findall(r"<text [^>]*>([^<]*)</text>", drawn) == ["1 sub_title", "2 &lt;b&gt;"]
    assert "180,115 190,115" in drawn
    assert '<svg class="order"' not in client.get("/page/2").text


def test_a_page_without_text_says_why(client: TestClient) -> None:
    shown = content(client.get("/page/2").text)
    assert "render: timeout: took over 60 s" in shown
    assert "There is no text on this page." in shown
    assert "Correct" not in shown


def test_a_page_or_document_that_is_not_there_is_said_so(client: TestClient, access: Access) -> None:
    for number in ("99", "0", "x", "-1", "²", str(2**63 - 1), str(2**63), "9" * 5000):
        for route in ("page/{}", "page/{}/image", "document/{}", "page/{}/correct"):
            method = "POST" if route.endswith("correct") else "GET"
            form = {"form_token": access.form_token, "text": "x"}
            answer = client.request(
                method, f"/{route.format(number)}", data=form if method == "POST" else None
            )
            assert answer.status_code == 404, (route, number[:30])


@pytest.mark.parametrize(
    "route", ["/", "/document/2", "/pages", "/search?q=script", "/page/3", "/page/3?q=<script>x"]
)
def test_text_of_documents_is_text(client: TestClient, route: str) -> None:
    html = client.get(route).text
    assert "<script>alert" not in html
    assert "<b>.pdf" not in html
    # Where it is corrected, it is as it is.
    assert "\x1b" not in re.sub(r"<textarea.*?</textarea>", "", html, flags=re.DOTALL)
    # Our own script is the only one, and nothing has a style or a handler of its own.
    assert re.findall(r"<script[^>]*>", html) == ['<script src="/static/viewer.js" defer>']
    assert not re.search(r"<[^>]*\s(style|on\w+)=", html)
    if route == "/page/3":
        assert "<script>alert(1)</script> & \\x1b[2J" in content(html)


def test_the_next_page_to_look_at_follows_and_starts_over(client: TestClient) -> None:
    def after(number: int) -> str:
        return client.get(f"/look?after={number}").headers["location"]

    assert [after(number) for number in (0, 1, 2, 3, 4)] == [
        "/page/2",
        "/page/2",
        "/page/3",
        "/page/2",
        "/page/2",
    ]


def test_lists_are_paged_both_ways(shelf: Shelf, client: TestClient) -> None:
    with closing(sqlite3.connect(shelf.database)) as conn, conn:
        conn.executemany(
            "INSERT INTO files SELECT ?, ?, 1, 'ok', NULL, 1, 1, NULL",
            [(i, f"/more/{i:03}.pdf") for i in range(10, 130)],
        )
    found: list[str] = []
    url, steps = "/", []
    while url:
        html = client.get(url).text
        found += re.findall(r'href="/document/(\d+)"', html)
        steps.append(url)
        url = unescape(match[1]) if (match := re.search(r'id="next" rel="next" href="([^"]+)"', html)) else ""
    assert len(found) == len(set(found)) == 123
    assert len(steps) == 3
    before = unescape(re.search(r'id="previous" rel="prev" href="([^"]+)"', html)[1])  # type: ignore[index]
    assert re.findall(r'href="/document/(\d+)"', client.get(before).text) == found[50:100]


def test_the_picture_is_of_the_page_upright_and_as_wide_as_asked(shelf: Shelf, access: Access) -> None:
    with make_client(shelf, access) as client:
        opened(client, access)
        answer = client.get("/page/1/image?w=700")
        assert answer.headers["content-type"] == "image/jpeg"
        assert Image.open(io.BytesIO(answer.content)).size == (800, 1067)
        turned = Image.open(io.BytesIO(client.get("/page/3/image").content)).convert("RGB")
        assert turned.size == (60, 80)
        red, green, _ = turned.getpixel((50, 10))  # type: ignore[misc]
        assert red > 200 > 60 > green
        assert min(turned.getpixel((10, 10))) > 200  # type: ignore[arg-type]
        # What is not there, or not what was read, is said and not shown; the text is still there.
        assert "not there any more" in client.get("/page/4/image").text
        assert "still</span> <" in client.get("/page/4").text
        shelf.sideways.write_bytes(shelf.sideways.read_bytes() + b"x")
        assert client.get("/page/3/image?w=2000").status_code == 404
        assert "has changed since it was read" in client.get("/page/3/image?w=2000").text


def test_a_damaged_file_is_that_page_s_own_trouble(shelf: Shelf, access: Access) -> None:
    shelf.letter.write_bytes(b"%PDF-1.4 nothing")
    with make_client(shelf, access) as client:
        opened(client, access)
        assert "has changed" in client.get("/page/1/image").text
        assert client.get("/page/3/image").status_code == 200


def test_a_correction_counts_and_can_be_withdrawn(client: TestClient, access: Access, shelf: Shelf) -> None:
    text = LETTER.replace("bent", "broken")
    answer = client.post("/page/1/correct", data=fields(client, access, text=text, name="  Ada\nL. "))
    assert (answer.status_code, answer.headers["location"]) == (303, "/page/1")
    found = row(shelf)
    assert (found["text"], found["corrected_by"]) == (text, "Ada L.")
    assert found["markdown"] == "# Dear Mr. Quill,\n\nthe rudder is **broken**"
    html = client.get("/page/1").text
    assert "corrected by Ada L." in content(html)
    assert 'value="Ada L."' in html  # remembered
    # Words that were not touched have kept their boxes, and the new one has the old one's.
    assert [box for _, box, *_ in WORD.findall(html)][-1] == "440 100 490 130"
    read = client.get("/page/1?text=read").text
    assert WORD.findall(read)[-1][-1] == "bent"
    assert re.findall(r'class="entry" href="/page/(\d+)"', client.get("/pages?status=corrected").text) == [
        "1"
    ]
    assert client.post("/page/1/withdraw", data=fields(client, access)).status_code == 303
    assert row(shelf)["text"] == LETTER
    assert rows(shelf.database, "SELECT count(*) FROM corrections") == [(1,)]


def test_line_ends_of_forms_are_no_change(client: TestClient, access: Access, shelf: Shelf) -> None:
    data = fields(client, access, text=LETTER.replace("\n", "\r\n"))
    assert client.post("/page/1/correct", data=data).status_code == 303
    assert rows(shelf.database, "SELECT count(*) FROM corrections") == [(0,)]


def test_a_text_for_a_reading_that_was_replaced_is_shown_again(
    client: TestClient, access: Access, shelf: Shelf
) -> None:
    from storage.records.store import Store

    with Store(shelf.database) as store:
        store.record_page(
            store.start_run(a_run()), a_page("read anew", 0, sha256=row(shelf)["sha256"], settings_hash="s2")
        )
    answer = client.post("/page/1/correct", data=fields(client, access, text="<i>my long work"))
    assert answer.status_code == 409
    assert "read again meanwhile" in content(answer.text)
    assert "<i>my long work</textarea>" in answer.text.replace("&lt;", "<").replace("&gt;", ">")
    assert row(shelf)["text"] == "read anew"


def test_what_is_no_form_is_refused(client: TestClient) -> None:
    assert client.post("/page/1/correct", content=b"\xff").status_code == 400
    assert client.post("/page/1/correct", content=b"x" * (9 << 20)).status_code == 413
    assert client.get("/page/1/correct").status_code == 405


def test_a_database_that_is_gone_is_said(client: TestClient, shelf: Shelf) -> None:
    import os

    os.unlink(shelf.database)
    answer = client.get("/")
    assert answer.status_code == 503
    assert "no such database" in answer.text
