"""Every format writes every page."""

import io
import json
from pathlib import Path

import pytest

from storage.database import open_for_reading
from storage.export.formats import FORMATS, export
from storage.records.store import Store
from storage.types import PageError
from tests.storage.export.test_export_files import written
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, new_run


@pytest.fixture
def filled(path: Path) -> Path:
    with Store(path) as store:
        run_id = new_run(store, a_file("a.pdf"), a_file("b\n.pdf", SHA_B))
        store.record_page(run_id, a_page("Één\u2028one\n", markdown="# Één\n\none\n"))
        error = PageError(stage="render", category="crash", message="bad --> <b>\nline two")
        store.record_page(run_id, a_page(None, 1, error=error))
        store.record_page(run_id, a_page("", 2, status="blank"))
        store.record_page(run_id, a_page("cut", 0, status="truncated", sha256=SHA_B))
    return path


def test_jsonl_is_one_object_a_line(filled: Path) -> None:
    lines = written(filled, "jsonl").split("\n")
    assert lines.pop() == ""
    pages = [json.loads(line) for line in lines]
    assert [(page["path"], page["page"], page["status"]) for page in pages] == [
        ("a.pdf", 1, "ok"),
        ("a.pdf", 2, "failed"),
        ("a.pdf", 3, "blank"),
        ("b\n.pdf", 1, "truncated"),
    ]
    assert pages[0]["text"] == "Één\u2028one\n"
    assert "Één" in lines[0]
    assert pages[0]["sha256"] == SHA_A
    fields = "path sha256 page status text markdown confidence blocks timings error"
    fields += " source rung rotation_deg layer_agreement script doubt superseded"
    fields += " words width_px height_px dpi corrected_by corrected_at"
    assert list(pages[0]) == fields.split()


def test_markdown(filled: Path) -> None:
    assert written(filled, "md") == (
        "# a.pdf\n"
        "\n<!-- page 1 -->\n\n# Één\n\none\n"
        "\n<!-- page 2: failed: render: crash: bad - -&gt; <b&gt; line two -->\n"
        "\n<!-- page 3: blank -->\n"
        "\n# b\\n.pdf\n"
        "\n<!-- page 1: truncated -->\n\ncut\n"
    )


def test_text(filled: Path) -> None:
    assert written(filled, "txt") == (
        "==== a.pdf, page 1 ====\nÉén\u2028one\n"
        "\n==== a.pdf, page 2 ====\n[failed: render: crash: bad --> <b> line two]\n"
        "\n==== a.pdf, page 3 ====\n[blank]\n"
        "\n==== b\\n.pdf, page 1 ====\n[truncated]\ncut\n"
    )


@pytest.mark.parametrize(
    ("format_name", "mark"),
    [
        ("jsonl", '"status": "doubtful", "text": "Pycckuu"'),
        ("md", "<!-- page 1: doubtful: confidence 0.11 below 0.35 - -&gt; -->\n\nPycckuu\n"),
        ("txt", "[doubtful: confidence 0.11 below 0.35 -->]\nPycckuu\n"),
    ],
)
def test_every_format_marks_a_doubtful_page_and_keeps_its_text(
    store: Store, path: Path, format_name: str, mark: str
) -> None:
    doubt = "confidence 0.11 below 0.35 -->"
    store.record_page(new_run(store), a_page("Pycckuu", status="doubtful", confidence=0.11, doubt=doubt))
    stream = io.StringIO()
    with open_for_reading(str(path)) as db:
        assert export(db, FORMATS[format_name], stream) == 1
    assert mark in stream.getvalue()
    assert format_name != "jsonl" or json.loads(stream.getvalue())["doubt"] == doubt


@pytest.mark.parametrize(
    "format_name", [name for name, form in FORMATS.items() if form.one_file != "page" and not form.is_binary]
)
def test_an_empty_database_exports_nothing(store: Store, path: Path, format_name: str) -> None:
    stream = io.StringIO()
    with open_for_reading(str(path)) as db:
        assert export(db, FORMATS[format_name], stream) == 0
    assert stream.getvalue() == ""
