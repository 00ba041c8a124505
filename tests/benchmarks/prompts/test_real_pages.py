import argparse
import json
import shutil
from pathlib import Path

import pytest
import torch

from ocr.checkpoints import checkpoint
from tests.benchmarks.prompts import real_pages
from tests.benchmarks.prompts.real_pages import SAMPLES, Source, build, sources, stored
from tests.benchmarks.prompts.tiny_pages import tiny_checkpoint, tiny_pages


@pytest.fixture
def quality(tmp_path: Path) -> Path:
    """Returns a set of six pages of two categories, and one without text."""
    names = [*(f"prose-{n}-1" for n in range(3)), *(f"toc-{n}-1" for n in range(3)), "empty-blank-1"]
    pages = {
        name: {"category": name.partition("-")[0], "package": "docs", "document": f"{name}.pdf", "page": 3}
        for name in names
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"pages": pages}))
    return tmp_path


def test_born_digital_pages_and_scans_are_of_different_pages(quality: Path) -> None:
    found = sources(quality, Path("packages"), quality, 50)
    born, scans = (
        [source for source in found if source.group == group]
        for group in (real_pages.BORN_DIGITAL, real_pages.SCAN)
    )
    assert [source.name for source in born] == [f"born-digital/prose-{n}-1" for n in range(3)]
    assert born[0].path == Path("packages/docs/prose-0-1.pdf")
    assert born[0].page_index == 2
    assert [source.path for source in scans] == [quality / f"degraded/toc-{n}-1.png" for n in range(3)]
    assert not {source.name.split("/")[1] for source in born} & {
        source.name.split("/")[1] for source in scans
    }


def test_fewer_pages_are_the_first_of_more(quality: Path) -> None:
    more, fewer = (sources(quality, Path(), quality, count) for count in (50, 3))
    assert fewer == more[:3]
    assert len({source.group for source in fewer}) == 3


def test_files_of_each_kind_take_turns_first_pages_first(tmp_path: Path) -> None:
    found = [source for source in sources(tmp_path, tmp_path, tmp_path, 50) if source.group == "sample"]
    assert [source.path.suffix for source in found[:4]] == [".tiff", ".png", ".jpg", ".pdf"]
    assert all(source.page_index == 0 for source in found[:4])


def test_what_is_built_is_read_back(tmp_path: Path) -> None:
    model = checkpoint.load(str(tiny_checkpoint(tmp_path / "tiny")), device="cpu", dtype=torch.float32)
    shutil.copy(SAMPLES / "report.pdf", tmp_path / "report.pdf")
    source = Source(name="sample/report", group="sample", path=tmp_path / "report.pdf", page_index=1)
    build(model, [source], tmp_path / "pages")
    (reading,) = stored(tmp_path / "pages")
    assert (reading.name, reading.page, reading.group, reading.kind) == (
        "sample/report",
        "sample/report",
        "sample",
        "pdf",
    )
    assert reading.vision.tokens_TD.dtype == torch.bfloat16
    assert reading.vision.tokens_TD.shape == (903, 64)
    assert reading.vision.num_local > 0
    assert reading.to(torch.device("cpu"), torch.float32).vision.tokens_TD.dtype == torch.float32


def test_a_folder_that_holds_enough_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_pages(tmp_path / "pages")
    monkeypatch.setattr(real_pages, "build", lambda *_: pytest.fail("built again"))
    real_pages.ensure(folder, argparse.Namespace(pages=3))
    assert [reading.page for reading in stored(folder, 2)] == ["born-digital/p0", "scan/p1", "scan/p1"]
