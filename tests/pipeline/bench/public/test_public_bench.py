"""Both benchmarks in small, in the published formats: scored by what a database has of their pages."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipeline.bench.public.olmocr_bench import FactScores
from pipeline.bench.public.omni_doc_bench import PageScores
from pipeline.bench.public.public_bench import pages_folder, score
from pipeline.bench.public.public_report import lines
from pipeline.bench.public.table_trees import teds
from pipeline.cli.bench_commands import bench
from pipeline.errors import ConfigError
from storage.export.rendering import tables
from storage.records.store import Store
from storage.types import FileRecord, PageRecord
from tests.storage.sample_records import a_run

HTML = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"


def read(database: Path, pages: dict[Path, str]) -> None:
    """A database in which each of these files has one page with this markdown."""
    with Store(database) as store:
        run = store.start_run(a_run())
        for number, (path, markdown) in enumerate(pages.items()):
            sha256 = f"{number:064x}"
            file = FileRecord(
                path=str(path), sha256=sha256, status="ok", size_bytes=1, kind="pdf", num_pages=1
            )
            store.record_file(run, file)
            store.plan_pages(sha256, [0], "s" * 64, attempt_limit=3)
            page = PageRecord(
                sha256=sha256,
                page_index=0,
                settings_hash="s" * 64,
                status="ok",
                text=markdown,
                markdown=markdown,
            )
            store.record_page(run, page)


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    folder = tmp_path / "bench_data"
    (folder / "pdfs" / "old").mkdir(parents=True)
    for name in ("a.pdf", "old/b.pdf", "c.pdf"):
        (folder / "pdfs" / name).touch()
    stated: dict[str, list[Any]] = {
        "texts.jsonl": [
            {"pdf": "a.pdf", "page": 1, "id": "1", "type": "present", "text": "one fine day"},
            {"pdf": "old/b.pdf", "page": 1, "id": "2", "type": "absent", "text": "Page 7"},
            {"pdf": "c.pdf", "page": 1, "id": "3", "type": "present", "text": "never read"},
            {"pdf": "a.pdf", "page": 1, "id": "4", "type": "smell"},
        ],
        "order.jsonl": [
            {"pdf": "a.pdf", "page": 1, "id": "5", "type": "order", "before": "one", "after": "day"},
            {"pdf": "a.pdf", "page": 1, "id": "6", "type": "math", "math": "x^2"},
        ],
    }
    for name, values in stated.items():
        (folder / name).write_text("\n".join(map(json.dumps, values)) + "\n{broken\n", encoding="utf-8")
    return folder


def test_facts_are_judged_by_file_and_by_type(facts: Path, tmp_path: Path) -> None:
    pages = facts / "pdfs"
    read(tmp_path / "a.db", {pages / "a.pdf": "**one** fine day", pages / "old" / "b.pdf": "Page 7"})
    result = score(facts, str(tmp_path / "a.db"))
    assert isinstance(result, FactScores)
    held = {name: (share.held, share.judged) for name, share in result.files.items()}
    assert held == {"texts.jsonl": (1, 3), "order.jsonl": (1, 1), "baseline": (2, 3)}
    assert result.score == pytest.approx((1 / 3 + 1 + 2 / 3) / 3)
    assert result.low < result.score < result.high
    assert (result.not_judged, result.num_missing, len(result.faults)) == ({"math": 1}, 1, 3)
    said = "\n".join(lines(result))
    assert "file texts.jsonl: 33.3% (1 of 3)" in said
    assert "left out: texts.jsonl, line 4: type 'smell' is not known" in said


@pytest.fixture
def annotated(tmp_path: Path) -> Path:
    folder = tmp_path / "omni"
    (folder / "images").mkdir(parents=True)

    def block(kind: str, order: int | None, **values: str) -> dict[str, Any]:
        return {"category_type": kind, "order": order, "ignore": False, "poly": [0] * 8, **values}

    first = [
        block("text_block", 2, text="The second one says more."),
        block("title", 1, text="A first title"),
        block("header", None, text="Running head"),
        block("table", 3, html=HTML),
        block("equation_isolated", 4, latex="x"),
    ]
    entries = [
        {"layout_dets": first, "page_info": {"page_no": 0, "image_path": "a.jpg"}, "extra": {"relation": []}},
        {"layout_dets": [block("text_block", 1, text="abcd")], "page_info": {"image_path": "b.jpg"}},
        {"layout_dets": [{}], "page_info": {"image_path": "c.jpg"}},
    ]
    (folder / "OmniDocBench.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def test_text_order_and_tables_are_scored(annotated: Path, tmp_path: Path) -> None:
    right = f"# A first title\n\nThe second one says more.\n\n{HTML}"
    read(tmp_path / "a.db", {annotated / "images" / "a.jpg": right})
    result = score(annotated, str(tmp_path / "a.db"))
    assert isinstance(result, PageScores)
    assert [(page.text, page.order, page.tables) for page in result.pages] == [(0, 0, (1,)), (1, None, ())]
    assert (result.text, result.tables, result.num_formulas, result.missing) == (0.5, 1, 1, ("b.jpg",))
    assert result.faults == ("OmniDocBench.json, page 3: KeyError: 'category_type'",)
    assert "1 tables, TEDS: 1.000" in "\n".join(lines(result))


def test_the_wrong_order_and_a_missing_cell_cost(annotated: Path, tmp_path: Path) -> None:
    wrong = "The second one says more.\n\n# A first title\n\n| a | b |\n|---|---|\n| c | |\n"
    read(tmp_path / "a.db", {annotated / "images" / "a.jpg": wrong})
    result = score(annotated, str(tmp_path / "a.db"))
    assert isinstance(result, PageScores)
    page = result.pages[0]
    assert page.order == 1
    assert page.text is not None
    assert 0.5 < page.text < 1
    assert page.tables == pytest.approx([1 - 1 / 7])


def test_teds_counts_spans() -> None:
    (one,), (other,) = tables(HTML), tables(HTML.replace("<td>b", "<td colspan=2>b"))
    assert teds(one, one) == 1
    assert teds(one, other) == pytest.approx(1 - 1 / 7)


def test_a_folder_with_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"neither olmOCR-bench .* nor OmniDocBench"):
        pages_folder(tmp_path)


def test_the_command_scores_what_was_read_before(facts: Path, tmp_path: Path) -> None:
    read(tmp_path / "a.db", {facts / "pdfs" / "a.pdf": "one fine day"})
    words = [
        "public",
        str(facts),
        "--db",
        str(tmp_path / "a.db"),
        "--score-only",
        "--output-json",
        str(tmp_path / "a"),
    ]
    result = CliRunner().invoke(bench, words)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("olmOCR-bench: ")
    assert json.loads((tmp_path / "a").read_text())["files"]["order.jsonl"] == {"held": 1, "judged": 1}
