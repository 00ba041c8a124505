"""The report is one safe file whose numbers are those of the rows."""

import hashlib
import io
import re
import shutil
import statistics as python_statistics
from html.parser import HTMLParser
from pathlib import Path

import pymupdf
import pytest
from click.testing import CliRunner
from PIL import Image

from pipeline.cli.main import cli
from pipeline.config.schema import Config
from pipeline.html_report import report_page
from pipeline.html_report.report_page import SIDE_PX, clock, code, seconds, thumbnails, write_report
from storage.database import Row
from storage.errors import ExportPathError, SelectionError
from storage.records.store import Store
from storage.types import PageError, StageTiming
from tests.storage.sample_records import SHA_B, a_file, a_page, a_run, new_run, rows

SAMPLES = Path(__file__).parents[2] / "samples"
EVIL = "<script>alert(1)</script>&\"'{{ 7 * 6 }}\u202e\x1b[31m"
FLOW = {
    "stages": [
        {"name": "render", "busy": 0.9, "waiting_input": 0.05, "waiting_output": 0.05},
        {"name": EVIL, "busy": 0.1, "waiting_input": 0.0, "waiting_output": 0.0},
    ],
    "num_tokens": 1200,
    "gpu_busy": 0.5,
}
ENCODER = {
    "local": {
        "hits": 75,
        "misses": 5,
        "eager": 20,
        "replays": 9,
        "padding_share": 0.125,
        "graph_mib": 10.0,
        "nan_traps": 2,
        "left_out": {"tokens": [4096, 8192], "views": [64]},
    },
    "global": {"hits": 0, "misses": 0, "eager": 0},
}


class Texts(HTMLParser):
    """Collects the elements of a page, with their attributes, and its text by table rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.kinds: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.in_cell = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.kinds.add(tag)
        self.attributes += attrs
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.in_cell = False

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.in_cell:
            self.rows[-1][-1] += data.strip()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Two runs; the second has a page of each kind, all of whose texts are hostile."""
    path = tmp_path / "test.db"
    with Store(path) as store:
        first = new_run(store, a_file("old.pdf", "c" * 64))
        store.record_page(first, a_page("old", sha256="c" * 64))
        run_id = store.start_run(a_run(model=EVIL, config={"note": EVIL}, versions={"ocrbatch": EVIL}))
        store.record_file(run_id, a_file(f"docs/{EVIL}.pdf", num_pages=9))
        store.record_file(
            run_id, a_file(f"locked{EVIL}.pdf", SHA_B, status="encrypted", reason=EVIL, num_pages=0)
        )
        for index in range(5):
            timings = (StageTiming(stage="render", share_s=0.1 * (index + 1), wall_s=1.0, batch_size=2),)
            store.record_page(run_id, a_page("read", index, confidence=0.91, timings=timings))
        store.record_page(run_id, a_page("?", 5, status="doubtful", doubt=EVIL, confidence=0.3))
        error = PageError(stage=EVIL, category=EVIL, message=EVIL)
        store.record_page(run_id, a_page(None, 6, error=error))
        store.record_page(run_id, a_page("layer", 7, status="embedded", source="layer"))
        store.finish_run(run_id, exit_code=3, counts={"pages_done_before": 4}, encoder=ENCODER, flow=FLOW)
        third = store.start_run(a_run())
        store.finish_run(third, exit_code=0, counts={}, encoder=None, flow=None)
    return path


def made(database: Path, **options: object) -> tuple[str, Texts]:
    target = database.with_suffix(".html")
    write_report(str(database), str(target), with_thumbnails=False, **options)  # type: ignore[arg-type]
    html = target.read_text(encoding="utf-8")
    return html, Texts(html)


def test_nothing_of_a_document_is_markup_and_nothing_is_loaded(database: Path) -> None:
    html, found = made(database)
    assert found.kinds.isdisjoint({"script", "iframe", "object", "link", "a", "form", "base"})
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("href", "srcset")]
    assert "<script" not in html
    assert "42" not in re.findall(r"alert\(1\)[^<]{0,40}", html)[0]
    # Marks that turn or hide text are shown as escapes.
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "<script>alert(1)</script>" in "".join(found.texts)
    assert not re.search(r"url\(|@import", html)
    addresses = set(re.findall(r"https?://[^\s\"'<]+", html))
    assert addresses == set()
    assert "default-src 'none'" in html


def test_the_numbers_are_those_of_the_rows(database: Path) -> None:
    _, found = made(database)
    table = {row[0]: row[1:] for row in found.rows}
    (run_id,) = rows(database, "SELECT max(run_id) FROM attempts")[0]
    counted = dict(
        rows(database, "SELECT status, count(*) FROM attempts WHERE run_id = ? GROUP BY status", run_id)
    )
    everywhere = dict(rows(database, "SELECT status, count(*) FROM pages WHERE asked GROUP BY status"))
    total = sum(counted.values())
    assert total == 8
    for status, number in counted.items():
        assert table[status] == [str(number), f"{number / total:.1%}", str(everywhere[status])], status
    shares = [
        share
        for (share,) in rows(
            database, "SELECT share_s FROM timings WHERE stage = 'render' AND run_id = ?", run_id
        )
    ]
    of_all = sum(share for (share,) in rows(database, "SELECT share_s FROM timings WHERE run_id = ?", run_id))
    values = python_statistics.mean(shares), python_statistics.median(shares), max(shares), sum(shares)
    assert table["render"] == ["5", *map(seconds, values), f"{sum(shares) / of_all:.1%}"]
    assert table["local"] == ["100", "75", "5", "20", "75.0%", "12.5%", "10.0 MiB", "0 µs"]
    assert "global" not in table
    text = " ".join("".join(found.texts).split())
    assert "wrote 1,200 tokens." in text
    assert "for 50.0% of the time" in text
    assert "local: graphs 2 not finite, 3 left out" in text
    assert "here render, at work for 90.0%" in text
    assert "4 more pages were read by earlier runs" in text


def test_the_last_run_with_pages_is_meant_without_a_number(database: Path) -> None:
    html, _ = made(database)
    assert "<h1>Run 2 " in html
    assert "up to run 3" in html
    html, _ = made(database, run_id=1)
    assert "<h1>Run 1 " in html
    assert "killed before its end" in html
    html, _ = made(database, run_id=3)
    assert "The run stored no page. The database holds 9" in html
    with pytest.raises(SelectionError, match="has no run 4; its runs are 1 to 3"):
        made(database, run_id=4)


def test_what_needs_a_look_is_listed_up_to_a_number(tmp_path: Path) -> None:
    with Store(tmp_path / "test.db") as store:
        run_id = new_run(store, a_file(num_pages=40))
        for index in range(40):
            store.record_page(run_id, a_page(None, index))
    html, found = made(tmp_path / "test.db", most=5)
    text = " ".join("".join(found.texts).split())
    assert "The page takes too long to draw 40 pages" in text
    assert "and 35 more" in text
    assert html.count('class="card"') == 10  # and the slowest


def test_a_database_without_a_run_has_no_report(tmp_path: Path) -> None:
    with Store(tmp_path / "test.db"):
        pass
    with pytest.raises(SelectionError, match="no run to report on"):
        made(tmp_path / "test.db")


def test_pictures_stand_in_the_file(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        report_page,
        "thumbnails",
        lambda pages, *_: {its["page_id"]: b"jpeg" if its["status"] == "ok" else EVIL for its in pages},
    )
    write_report(str(database), str(database.with_suffix(".html")))
    found = Texts(database.with_suffix(".html").read_text(encoding="utf-8"))
    assert {value for name, value in found.attributes if name == "src"} == {"data:image/jpeg;base64,anBlZw=="}
    assert "script" not in found.kinds
    assert any("No picture: <script>" in text for text in found.texts)


def test_a_wrong_place_is_refused_and_leaves_what_was_there(database: Path, tmp_path: Path) -> None:
    before = database.read_bytes()
    for path, words in (
        (database, "is the database itself"),
        (Path(f"{database}-wal"), "is the database itself"),
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "report.html", "there is no folder"),
    ):
        with pytest.raises(ExportPathError, match=words):
            write_report(str(database), str(path), with_thumbnails=False)
    assert database.read_bytes() == before


def test_a_failure_leaves_the_earlier_report(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(database)
    target = database.with_suffix(".html")
    before = target.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report_page.os, "replace", full)
    with pytest.raises(ExportPathError, match="No space left"):
        made(database)
    assert target.read_bytes() == before
    assert [path.name for path in target.parent.iterdir() if path.name.endswith(".part")] == []


def test_the_command_draws_what_is_there(tmp_path: Path) -> None:
    """The whole way, with worker processes, on files as they are."""
    source = tmp_path / "report.pdf"
    shutil.copy(SAMPLES / "report.pdf", source)
    path, target = tmp_path / "test.db", tmp_path / "out.html"
    sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
    with Store(path) as store:
        run_id = new_run(store, a_file(str(source), sha256))
        store.record_page(run_id, a_page(sha256=sha256, confidence=0.7))
    result = CliRunner().invoke(cli, ["report", "--db", str(path), "-o", str(target)], standalone_mode=False)
    assert result.exception is None
    assert "run 1, 1 pages" in result.stderr
    assert target.read_text(encoding="utf-8").count("data:image/jpeg;base64,") == 2
    source.unlink()
    CliRunner().invoke(cli, ["report", "--db", str(path), "-o", str(target)], standalone_mode=False)
    assert "No picture: the file cannot be read any more" in target.read_text(encoding="utf-8")


def test_small_words() -> None:
    durations = [1e-6, 0.00123, 0.5, 1.5, 275.3, 7200]
    assert [seconds(value) for value in durations] == [
        "1 µs", "1.23 ms", "500 ms", "1.5 s", "275 s", "2 h 00 min",
    ]  # fmt: skip
    assert code("set `a<b` & go") == "set <code>a&lt;b</code> &amp; go"
    assert [clock(value) for value in (0, 65.2, 3600, 36061)] == ["0:00", "1:05", "1:00:00", "10:01:01"]


def test_bars_are_as_long_as_their_numbers(database: Path) -> None:
    html, _ = made(database)
    bars = re.findall(r'<span class="is-(\w+)" style="(width|height): ([\d.]+)%" title="([^"]*)"', html)
    assert ("ok", "width", "62.5", "ok 5") in bars
    assert ("busy", "width", "90.0", "working 90.0%") in bars
    columns = [(name, share, said.split(": ")[1]) for name, side, share, said in bars if side == "height"]
    assert columns[:3] == [("ok", "62.5", "read 300"), ("embedded", "12.5", "text layer taken 60"),
                           ("doubtful", "25.0", "needs a look 120")]  # fmt: skip
    assert columns[3:] == [("ok", "20.0", "pages 1"), ("ok", "100.0", "pages 5")]


def place(path: Path, state: str = "there", page_index: int = 0, kind: str | None = None) -> Row:
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    kind = kind or ("pdf" if path.suffix == ".pdf" else "image")
    return {"path": str(path), "sha256": sha256, "kind": kind, "page_index": page_index, "state": state}


def test_pages_have_pictures_or_a_reason(tmp_path: Path) -> None:
    changed, gone, broken = tmp_path / "changed.png", tmp_path / "gone.pdf", tmp_path / "broken.pdf"
    shutil.copy(SAMPLES / "letter.png", changed)
    shutil.copy(SAMPLES / "report.pdf", gone)
    broken.write_bytes(b"%PDF-1.7 nothing")
    places = {
        1: place(SAMPLES / "report.pdf", page_index=2),
        2: place(SAMPLES / "photo.jpg"),
        3: place(changed),
        4: place(gone),
        5: place(broken),
        6: place(SAMPLES / "report.pdf", state="missing"),
        7: place(SAMPLES / "report.pdf", state="superseded"),
        8: place(SAMPLES / "report.pdf", page_index=99),
        9: place(SAMPLES / "report.pdf", kind="video"),
    }
    Image.new("RGB", (10, 10)).save(changed)
    gone.unlink()
    found = thumbnails([{"page_id": page_id, "rotation_deg": 0} for page_id in places], places, Config())
    assert sorted(page_id for page_id, one in found.items() if isinstance(one, bytes)) == [1, 2]
    for page_id in (1, 2):
        with Image.open(io.BytesIO(found[page_id])) as picture:  # type: ignore[arg-type]
            assert (picture.format, max(picture.size)) == ("JPEG", SIDE_PX)
    assert {page_id: found[page_id] for page_id in (3, 6, 7)} == {
        3: "the file holds something else now",
        6: "the file is not there any more",
        7: "the file holds something else now",
    }
    assert "No such file" in str(found[4])
    assert "damaged" in str(found[5])
    assert all(isinstance(found[page_id], str) for page_id in (8, 9))


def test_an_encrypted_page_is_drawn_with_the_run_s_password(tmp_path: Path) -> None:
    path, passwords = tmp_path / "locked.pdf", tmp_path / "passwords"
    with pymupdf.open() as document:
        document.new_page()
        document.save(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="other")
    passwords.write_text("secret\n")
    passwords.chmod(0o600)
    config = Config(ingest={"password_file": str(passwords)})
    pages = [{"page_id": 1, "rotation_deg": 0}]
    assert isinstance(thumbnails(pages, {1: place(path)}, config)[1], bytes)
    assert "password" in str(thumbnails(pages, {1: place(path)}, Config())[1])
