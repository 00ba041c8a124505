"""The real Datasette shows a database, with the metadata that the command writes: pages, search, views, queries."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.database import open_for_writing
from storage.datasette.metadata import metadata, metadata_yaml
from storage.records.corrections import correct
from storage.records.store import Store
from tests.storage.sample_records import SHA_B, a_file, a_page, new_run, rows


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "my results.db"
    with Store(path) as store:
        run_id = new_run(
            store,
            a_file("docs/a.pdf"),
            a_file("x.pdf", SHA_B, status="broken", reason="damaged", num_pages=0),
        )
        store.record_page(run_id, a_page("The bridge was built in 1891.", 0, confidence=0.9))
        store.record_page(run_id, a_page("A harbour, and no bride.", 1, confidence=0.4))
        store.record_page(run_id, a_page(None, 2))
    return path


def got(database: Path, *urls: str) -> list[Any]:
    """Returns the answers of Datasette, run in this process on the file as the command line would."""
    app = pytest.importorskip("datasette.app")
    described = yaml.safe_load(metadata_yaml(str(database)))

    async def ask() -> list[Any]:
        served = app.Datasette([str(database)], metadata=described)
        return [await served.client.get(url) for url in urls]

    return asyncio.run(ask())


BASE = "/my~20results"


def test_every_table_view_and_query_is_shown(database: Path) -> None:
    tables = metadata(str(database))["databases"]["my results"]["tables"]
    queries = metadata(str(database))["databases"]["my results"]["queries"]
    names = [*tables, *queries]
    answers = got(database, *(f"{BASE}/{name}" for name in names), BASE)
    assert {name: answer.status_code for name, answer in zip(names, answers, strict=False)} == dict.fromkeys(
        names, 200
    )
    assert "Pages with their texts" in answers[names.index("page_text")].text
    assert "How sure the model was, from 0 to 1" in answers[names.index("page_text")].text
    assert "Start with page_text" in answers[-1].text


def test_pages_are_listed_and_found_by_their_words(database: Path) -> None:
    listed, found, none, odd = (
        answer.json()
        for answer in got(
            database,
            f"{BASE}/page_text.json?_shape=array&_nofacet=1",
            f"{BASE}/page_text.json?_shape=array&_search=bridge",
            f"{BASE}/results.json?_shape=array&_search=viaduct",
            f"{BASE}/search.json?_shape=array&words=harbour's+OR+\"",
        )
    )
    assert {(row["path"], row["page"], row["status"]) for row in listed} == {
        ("docs/a.pdf", 1, "ok"), ("docs/a.pdf", 2, "ok"), ("docs/a.pdf", 3, "failed"),
    }  # fmt: skip
    assert [(row["page"], row["text"]) for row in found] == [(1, "The bridge was built in 1891.")]
    assert none == []
    assert odd == []  # an odd query is no error


def test_queries_and_views_answer(database: Path) -> None:
    search, unsure, failures, stages = (
        answer.json()
        for answer in got(
            database,
            f"{BASE}/search.json?_shape=array&words=bridge+built",
            f"{BASE}/least_confident.json?_shape=array",
            f"{BASE}/failures.json?_shape=array",
            f"{BASE}/stage_summary.json?_shape=array",
        )
    )
    assert [(row["page"], row["snippet"]) for row in search] == [(1, "The [bridge] was [built] in 1891.")]
    assert [row["confidence"] for row in unsure] == [0.4, 0.9]
    assert {(row["path"], row["status"], row["reason"]) for row in failures} == {
        ("docs/a.pdf", "failed", "took over 60 s"),
        ("x.pdf", "broken", "damaged"),
    }
    assert [row["stage"] for row in stages] == ["store"]


def test_a_corrected_text_is_found(database: Path) -> None:
    page_id, attempt_id = rows(database, "SELECT id, current_attempt_id FROM pages WHERE page_index = 1")[0]
    with closing(open_for_writing(str(database))) as db:
        correct(db, page_id, "A harbour, and no bridge.", made_by="ann", attempt_id=attempt_id)
    (answer,) = got(database, f"{BASE}/page_text.json?_shape=array&_search=bridge")
    assert {(row["page"], row["corrected_by"]) for row in answer.json()} == {(1, None), (2, "ann")}


def test_what_is_described_is_there(database: Path) -> None:
    """Names of columns, above all: Datasette ignores those that it does not find."""
    for name, table in metadata(str(database))["databases"]["my results"]["tables"].items():
        columns = {column for (column,) in rows(database, f"SELECT name FROM pragma_table_info('{name}')")}
        assert columns, name
        named = {*table.get("columns", {}), *table.get("facets", []), *filter(None, [table.get("fts_pk")])}
        assert named - columns == set(), name


def test_every_view_is_described(database: Path) -> None:
    described = set(metadata(str(database))["databases"]["my results"]["tables"])
    (views,) = zip(*rows(database, "SELECT name FROM sqlite_master WHERE type = 'view'"), strict=True)
    assert set(views) - described == {"listed_files", "superseded_results", "current_text"}
