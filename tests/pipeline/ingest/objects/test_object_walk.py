from pathlib import Path

import pytest

from pipeline.documents.settings import IngestSettings
from pipeline.errors import ConfigError
from pipeline.ingest.objects.object_walk import Listings, are_gone, gone
from pipeline.ingest.walk import canonical, walk
from pipeline.types import InputFile
from tests.pipeline.ingest.objects.faulty_store import FaultyStore, fresh

B = "faulty://box"


def found(*paths: str, **settings) -> list[str]:
    return [
        f"{item.status}: {item.path}" if isinstance(item, InputFile) else item.path
        for item in walk(paths, IngestSettings(**settings))
    ]


def put(*names: str) -> None:
    store = fresh()
    for name in names:
        store.pipe(f"faulty://box/{name}", b"x")


def test_objects_come_in_the_order_of_files() -> None:
    put(
        "in/b.pdf",
        "in/a/2.pdf",
        "in/a/10.pdf",
        "in/.hidden.pdf",
        "in/.git/x.pdf",
        "in/B #1?.pdf",
        "other.pdf",
    )
    expected = [f"{B}/in/{name}" for name in ("B #1?.pdf", "b.pdf", "a/10.pdf", "a/2.pdf")]
    assert found(f"{B}/in") == found(f"{B}/in/") == expected
    assert found(f"{B}/in", f"{B}/in/a", f"{B}/other.pdf") == [*expected, f"{B}/other.pdf"]


def test_globs_are_of_the_path_below_the_url() -> None:
    put("in/b.pdf", "in/a/2.pdf", "in/a/3.txt")
    assert found(f"{B}/in", include=("*.pdf",), exclude=("b*",)) == [f"{B}/in/a/2.pdf"]
    assert found(f"{B}/in/b.pdf", exclude=("b*",)) == [f"{B}/in/b.pdf"]


def test_a_url_that_cannot_be_read_is_an_error_at_once() -> None:
    put("in/b.pdf")
    with pytest.raises(ConfigError, match="faulty://box/nothing: no such object"):
        walk([f"{B}/nothing"], IngestSettings())
    with pytest.raises(ConfigError, match="nosuch"):
        walk(["nosuch://box/x"], IngestSettings())


def test_a_folder_that_cannot_be_listed_is_a_document_with_the_reason() -> None:
    put("in/a/1.pdf", "in/b/2.pdf")
    FaultyStore.unlistable.add("/box/in/a")
    assert found(f"{B}/in") == [f"broken: {B}/in/a", f"{B}/in/b/2.pdf"]


def test_a_url_is_not_resolved_as_a_path() -> None:
    assert canonical("s3://box/../a/") == "s3://box/../a"
    assert canonical("https://host/a/") == "https://host/a/"


def test_only_a_listing_that_succeeded_proves_that_an_object_is_gone(tmp_path: Path) -> None:
    store = fresh()
    store.pipe("faulty://box/in/here.pdf", b"x")
    store.pipe("faulty://box/shut/here.pdf", b"x")
    FaultyStore.unlistable.add("/box/shut")
    names = [
        "faulty://box/in/here.pdf", "faulty://box/in/away.pdf", "faulty://box/emptied/away.pdf",
        "faulty://box/shut/away.pdf", "faulty://nobox/away.pdf", "https://127.0.0.1:9/away.pdf",
        "nosuch://box/away.pdf", str(tmp_path / "away.pdf"), str(tmp_path),
    ]  # fmt: skip
    assert sorted(gone(enumerate(names), Listings(5.0))) == [1, 2, 7]
    assert are_gone(names[1:3], Listings(5.0))
    assert not are_gone(names[:2], Listings(5.0))
