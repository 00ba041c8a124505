"""Exported rows: complete, in order, one at a time."""

import tracemalloc
from pathlib import Path

import pytest

from ocr.types import Block
from storage.database import open_for_reading
from storage.export.rows import PageRow, export_rows, moved, shortfall
from storage.records.store import Store
from storage.types import BoxPx, StageTiming, WordRow
from tests.storage.sample_records import FAILURE, SETTINGS, SHA_A, SHA_B, WordRecord, a_file, a_page, new_run


def read(path: Path) -> list[PageRow]:
    with open_for_reading(str(path)) as db:
        return list(export_rows(db, with_words=True))


def test_a_row_holds_everything_about_the_page(store: Store, path: Path) -> None:
    timings = (
        StageTiming(stage="render", share_s=0.5, wall_s=0.5),
        StageTiming(stage="encode_local", share_s=0.25, wall_s=1.0, batch_size=4, path_use="hit"),
        StageTiming(stage="encode_local", share_s=0.25, wall_s=1.0, batch_size=4, path_use="miss"),
        StageTiming(stage="store", share_s=0.125, wall_s=0.125),
    )
    blocks = (
        Block(label="title", text="T", box_px=(1, 2, 3, 4), confidence=0.25),
        Block(label="text", text="b"),
    )
    made = {
        "source": "layer",
        "rung": "dense",
        "rotation_deg": 270,
        "layer_agreement": 0.75,
        "script": "Arab",
        "doubt": "a picture is missing",
        "words": (WordRecord(text="T", box_px=(1, 2, 3, 4), confidence=0.25), WordRecord(text="b")),
        "width_px": 10,
        "height_px": 20,
        "dpi": 72.0,
    }
    page = a_page("T b", 1, markdown="# T\n\nb", confidence=0.5, blocks=blocks, timings=timings, **made)
    store.record_page(new_run(store), page)
    assert read(path) == [
        {
            "path": "docs/a.pdf",
            "sha256": SHA_A,
            "page": 2,
            "status": "ok",
            "text": "T b",
            "markdown": "# T\n\nb",
            "confidence": 0.5,
            "blocks": [
                {"label": "title", "box": (1, 2, 3, 4), "text": "T", "confidence": 0.25, "source": "ocr"},
                {"label": "text", "box": None, "text": "b", "confidence": None, "source": "layer"},
            ],
            "timings": {"render": 0.5, "encode_local": 0.5, "store": 0.125},
            "error": None,
            "source": "layer",
            "rung": "dense",
            "rotation_deg": 270,
            "layer_agreement": 0.75,
            "script": "Arab",
            "doubt": "a picture is missing",
            "superseded": False,
            "words": [
                {"text": "T", "box": (1, 2, 3, 4), "confidence": 0.25},
                {"text": "b", "box": None, "confidence": None},
            ],
            "width_px": 10,
            "height_px": 20,
            "dpi": 72.0,
            "corrected_by": None,
            "corrected_at": None,
        }
    ]
    assert list(read(path)[0]["timings"]) == ["render", "encode_local", "store"]


def test_failed_and_pending_pages_are_there_and_documents_without_pages_are_not(
    store: Store, path: Path
) -> None:
    run_id = new_run(store, a_file(), a_file("broken.pdf", SHA_B, status="broken", num_pages=0))
    store.plan_pages(SHA_A, [0, 1], SETTINGS, attempt_limit=1)
    store.record_page(run_id, a_page(None, 1))
    pending, failed = read(path)
    assert (pending["status"], pending["text"], pending["error"], pending["timings"]) == (
        "pending",
        None,
        None,
        {},
    )
    assert failed["error"] == {"stage": "render", "category": "timeout", "message": FAILURE.message}
    assert (failed["status"], failed["text"], failed["blocks"]) == ("failed", None, [])


def test_order_is_by_path_then_page_and_equal_content_is_there_twice(store: Store, path: Path) -> None:
    names = ["b/2.pdf", "b/10.pdf", "a.pdf", "B.pdf", "é.pdf"]
    run_id = new_run(store, *(a_file(name) for name in names), a_file("a/z.pdf", SHA_B))
    for index in (10, 2, 0):
        store.record_page(run_id, a_page(f"page {index}", index))
    store.record_page(run_id, a_page("other", sha256=SHA_B))
    found = [(row["path"], row["page"]) for row in read(path)]
    expected = [(name, page) for name in names for page in (1, 3, 11)] + [("a/z.pdf", 1)]
    assert found == sorted(expected, key=lambda item: (item[0].encode(), item[1]))


@pytest.mark.slow
def test_rows_are_streamed_without_sorting(store: Store, path: Path) -> None:
    run_id = new_run(store)
    for index in range(200):
        store.record_page(run_id, a_page("x" * 100_000, index))
    with open_for_reading(str(path)) as db:
        tracemalloc.start()
        number = sum(1 for _ in export_rows(db))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert number == 200
    assert peak < 2_000_000  # of 40 MB


def test_an_export_is_of_one_moment(store: Store, path: Path) -> None:
    run_id = new_run(store)
    for index in range(3):
        store.record_page(run_id, a_page("old", index))
    with open_for_reading(str(path)) as db:
        exported = export_rows(db)
        first = next(exported)
        for index in range(4):
            store.record_page(run_id, a_page("new", index, blocks=(Block(label="x", text="y"),)))
        assert [row["text"] for row in (first, *exported)] == ["old"] * 3


def test_shortfalls_are_one_line(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page())
    store.record_page(run_id, a_page("part", 1, status="truncated"))
    store.record_page(run_id, a_page(None, 2))
    assert [shortfall(row) for row in read(path)] == [
        None,
        "truncated",
        "failed: render: timeout: took over 60 s",
    ]


READ = "the qu1ck brown fox"
BOXES: dict[str, BoxPx] = {
    "the": (0, 0, 30, 10), "qu1ck": (40, 0, 90, 10), "brown": (100, 0, 150, 10), "fox": (160, 0, 190, 10),
}  # fmt: skip


def words_read() -> list[WordRow]:
    return [WordRow(text=name, box=BOXES[name], confidence=0.5) for name in READ.split()]


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        (READ, list(BOXES.values())),
        ("the quick brown fox", list(BOXES.values())),
        ("the quickbrown fox", [BOXES["the"], (40, 0, 150, 10), BOXES["fox"]]),
        (
            "the qu 1ck brown fox",
            [BOXES["the"], (40, 0, 57, 10), (65, 0, 90, 10), BOXES["brown"], BOXES["fox"]],
        ),
        ("the qu1ck fox", [BOXES["the"], BOXES["qu1ck"], BOXES["fox"]]),
        ("the qu1ck brown old fox", [*list(BOXES.values())[:3], None, BOXES["fox"]]),
        ("", []),
    ],
)
def test_boxes_go_with_the_words(text: str, boxes: list[BoxPx | None]) -> None:
    words = moved(words_read(), text)
    assert [word["text"] for word in words] == text.split()
    assert [word["box"] for word in words] == boxes


def test_only_what_was_read_so_has_its_confidence() -> None:
    assert [word["confidence"] for word in moved(words_read(), "the quick brown fox")] == [
        0.5,
        None,
        0.5,
        0.5,
    ]
