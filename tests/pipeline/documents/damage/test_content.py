"""Files that change or vanish between the look into them and the reading of their pages."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pipeline.documents.failures import PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.errors import ExitCode
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.stages import discover
from pipeline.stages.discover import probe
from pipeline.stages.render import PageImage, render
from pipeline.types import Page
from tests.pipeline.conftest import Batch, MakePdf
from tests.pipeline.runs import rows

TILE = TileSettings(mode="tiny")


def found(path: Path, index: int = 0) -> Page:
    document = probe(str(path), IngestSettings())
    assert document.sha256 is not None
    assert document.kind is not None
    return Page(
        path=str(path), sha256=document.sha256, kind=document.kind, page_index=index, stamp=document.stamp
    )


def draw(page: Page, documents: OpenDocuments) -> PageImage:
    return render(page, RenderSettings(), TILE, documents)


@pytest.fixture
def other(tmp_path: Path, make_pdf: MakePdf) -> Path:
    return make_pdf(tmp_path / "other", ["something else altogether", "two"])


def replaced(path: Path, other: Path) -> None:
    os.replace(other, path)


def rewritten(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def truncated(path: Path, other: Path) -> None:
    os.truncate(path, 500)


def grown(path: Path, other: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n% more")


def kept_its_times(path: Path, other: Path) -> None:
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = [replaced, rewritten, truncated, grown, kept_its_times]


@pytest.mark.parametrize("change", CHANGES)
def test_other_content_is_not_drawn(
    change: Callable[[Path, Path], None], tmp_path: Path, other: Path, make_pdf: MakePdf
) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["one", "two"])
    page = found(path)
    change(path, other)
    with pytest.raises(PageRenderError, match="run again") as caught:
        draw(page, OpenDocuments())
    assert caught.value.category == "changed"


@pytest.mark.parametrize("change", [rewritten, truncated, grown, kept_its_times])
def test_a_file_that_changes_while_it_is_open_is_noticed(
    change: Callable[[Path, Path], None], tmp_path: Path, other: Path, make_pdf: MakePdf
) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["one", "two"])
    pages, documents = [found(path), found(path, 1)], OpenDocuments()
    draw(pages[0], documents)
    change(path, other)
    with pytest.raises(PageRenderError):
        draw(pages[1], documents)


@pytest.mark.parametrize("end", [replaced, lambda path, other: path.unlink()])
def test_an_open_file_is_read_to_its_end_whatever_has_its_name(
    end: Callable[[Path, Path], None], tmp_path: Path, other: Path, make_pdf: MakePdf
) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["one", "one"])
    pages, documents = [found(path), found(path, 1)], OpenDocuments()
    first = draw(pages[0], documents)
    end(path, other)
    assert (draw(pages[1], documents).pixels == first.pixels).all()


def test_a_file_that_was_only_touched_is_the_same(tmp_path: Path, make_pdf: MakePdf) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["one"])
    page = found(path)
    path.touch()
    path.chmod(0o600)
    shutil.copy2(path, tmp_path / "b")
    assert draw(page, OpenDocuments()).page == page


def test_images_are_held_to_their_content_too(tmp_path: Path) -> None:
    Image.effect_noise((80, 60), 90).save(tmp_path / "a.png")
    page = found(tmp_path / "a.png")
    assert draw(page, OpenDocuments()).page == page
    Image.effect_noise((80, 60), 90).save(tmp_path / "a.png")
    with pytest.raises(PageRenderError):
        draw(page, OpenDocuments())


def test_nothing_stays_open(tmp_path: Path, make_pdf: MakePdf) -> None:
    page = found(make_pdf(tmp_path / "a.pdf", ["one"]))
    documents = OpenDocuments()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    draw(page, documents)
    documents.close()
    documents.close()
    assert not before or len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_is_being_written_is_left_for_the_next_run(
    tmp_path: Path, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = make_pdf(tmp_path / "a.pdf", ["one"]), discover._count_pages
    looks: list[int] = []

    def grows(*arguments: Any) -> int:
        looks.append(1)
        grown(path, path)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(discover, "_count_pages", grows)
        document = probe(str(path), IngestSettings())
    assert (document.status, document.sha256, document.num_pages, len(looks)) == ("broken", None, 0, 2)
    assert "being written" in str(document.reason)
    document = probe(str(path), IngestSettings())
    assert (document.status, document.num_pages) == ("ok", 1)
    assert document.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "category"), [(replaced, "changed"), (lambda path, other: path.unlink(), "unreadable")]
)
def test_a_run_ends_such_pages_with_a_reason_and_the_next_reads_what_is_there(
    change: Callable[[Path, Path], None],
    category: str,
    batch: Batch,
    other: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, kept = batch.pdf("a.pdf", ["one", "two"]), batch.pdf("b.pdf", ["three"])
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    real = WorkerPool.render
    changed: list[int] = []

    def render_after_change(self: WorkerPool, page: Page, **options: Any) -> Any:
        if not changed:
            changed.append(1)
            change(path, other)
        return real(self, page, **options)

    with monkeypatch.context() as patch:
        patch.setattr(WorkerPool, "render", render_after_change)
        summary = batch.run()
    assert summary.exit_code == ExitCode.INCOMPLETE
    assert summary.pages == {"ok": 1, "failed": 2}
    found_rows = {(Path(row["path"]).name, row["page"]): row for row in rows(batch.database)}
    for number in (1, 2):
        row = found_rows["a.pdf", number]
        assert (row["sha256"], row["text"], row["error"]["category"]) == (before, None, category)
    assert found_rows["b.pdf", 1]["status"] == "ok"

    summary = batch.run()
    assert summary.pages == ({"ok": 2} if category == "changed" else {})
    assert kept.exists()
