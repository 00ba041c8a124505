import os
import stat
import threading
import time
from pathlib import Path

import pytest

from pipeline.documents.settings import IngestSettings
from pipeline.ingest.objects.download import ObjectError
from pipeline.ingest.objects.spool import Spool, SpoolFolder
from tests.pipeline.ingest.objects.faulty_store import FaultyStore, fresh, never

B = "faulty://box"
PDF = b"%PDF-1.7\n" + bytes(5000)


@pytest.fixture
def spool(tmp_path: Path):
    fresh()
    made = Spool(IngestSettings(spool=str(tmp_path / "spool"), spool_bytes=12_000, object_timeout_s=1.0))
    yield made
    made.close()
    never.set()
    for thread in threading.enumerate():
        if thread.name in (
            "spool",
            "object",
        ):  # a fetch that is left running would be counted by the next test
            thread.join(10)
    never.clear()
    assert not any(path.name.startswith("ocrbatch-spool") for path in (tmp_path / "spool").glob("*"))


def put(name: str, data: bytes = PDF) -> str:
    FaultyStore().pipe(f"{B}/{name}", data)
    return f"{B}/{name}"


def test_an_object_is_fetched_once_while_its_pages_are_read(spool: Spool) -> None:
    url = put("a #1?.PDF")
    path = Path(spool.use(url).result(10))
    assert path.read_bytes() == PDF
    assert path.suffix == ".pdf"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    spool.end_use(url)
    spool.hold(url, [0, 1])
    assert spool.use(url).result(10) == str(path)
    spool.end_use(url)
    spool.release(url, 0)
    assert path.exists()
    spool.release(url, 1)
    assert not path.exists()
    assert FaultyStore.opened == ["/box/a #1?.PDF"]


def test_an_object_with_nothing_to_read_goes_at_once(spool: Spool) -> None:
    url = put("a.pdf")
    path = Path(spool.use(url).result(10))
    spool.end_use(url)
    spool.hold(url, [])
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("stalled.pdf", "nothing came for 1 s"),
        ("forbidden.pdf", "access denied"),
        ("gone.pdf", "no such object"),
        ("large.pdf", "raise ingest.spool_mb"),
    ],
)
def test_an_object_that_cannot_be_had_says_why_and_holds_up_no_other(
    spool: Spool, name: str, reason: str
) -> None:
    bad, good = put(name, bytes(13_000) if name == "large.pdf" else PDF), put("good.pdf")
    waiting = spool.use(bad)
    assert Path(spool.use(good).result(10)).read_bytes() == PDF
    with pytest.raises(ObjectError, match=reason):
        waiting.result(10)
    spool.end_use(bad)
    never.set()
    never.clear()
    assert spool.use(bad) is not waiting  # is asked for again when it is wanted again


def test_an_error_that_passes_is_tried_again(spool: Spool) -> None:
    assert Path(spool.use(put("flaky.pdf")).result(10)).read_bytes() == PDF
    assert len(FaultyStore.opened) == 2


def test_only_the_beginning_is_kept_of_what_is_no_input(spool: Spool) -> None:
    assert Path(spool.use(put("a.bin", bytes(9_000))).result(10)).stat().st_size == 1024


def test_what_nobody_needs_makes_way_and_what_is_held_does_not(spool: Spool) -> None:
    urls = [put(f"{number}.pdf") for number in range(4)]
    held, idle = spool.use(urls[0]).result(10), spool.use(urls[1]).result(10)
    spool.end_use(urls[0])
    spool.end_use(urls[1])
    spool.hold(urls[0], [3])
    third = spool.use(urls[2]).result(10)
    assert [Path(path).exists() for path in (held, idle, third)] == [True, False, True]
    fourth = spool.use(urls[3])
    time.sleep(0.3)
    assert not fourth.done()
    spool.release(urls[0], 3)
    assert Path(fourth.result(10)).exists()


def test_the_spool_of_a_dead_process_is_removed_and_that_of_a_living_one_is_not(tmp_path: Path) -> None:
    living = SpoolFolder(str(tmp_path))
    dead = tmp_path / "ocrbatch-spool-dead"
    dead.mkdir()
    (dead / "lock").touch()
    (dead / "1.pdf").touch()
    young = tmp_path / "ocrbatch-spool-young"
    young.mkdir()
    SpoolFolder(str(tmp_path)).remove()
    assert living.path.exists()
    assert young.exists()
    assert not dead.exists()
    os.utime(young, (0, 0))
    SpoolFolder(str(tmp_path)).remove()
    assert not young.exists()
    living.remove()
