from pathlib import Path

from pipeline.ingest.objects.presence import Listings, are_gone, gone
from tests.pipeline.ingest.objects.faulty_store import FaultyStore, fresh


def test_only_a_listing_that_succeeded_proves_that_an_object_is_gone(tmp_path: Path) -> None:
    store = fresh()
    store.pipe("faulty://box/in/here.pdf", b"x")
    store.pipe("faulty://box/shut/here.pdf", b"x")
    FaultyStore.unlistable.add("/box/shut")
    names = [
        "faulty://box/in/here.pdf",
        "faulty://box/in/away.pdf",
        "faulty://box/emptied/away.pdf",
        "faulty://box/shut/away.pdf",
        "faulty://nobox/away.pdf",
        "https://127.0.0.1:9/away.pdf",
        "nosuch://box/away.pdf",
        str(tmp_path / "away.pdf"),
        str(tmp_path),
    ]
    assert sorted(gone(enumerate(names), Listings(5.0))) == [1, 2, 7]
    assert are_gone(names[1:3], Listings(5.0))
    assert not are_gone(names[:2], Listings(5.0))
