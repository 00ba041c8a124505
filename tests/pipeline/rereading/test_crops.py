"""Pages in crops: their views, the memory they take, how a batch of them is read, and that it helps."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
import pytest
import torch
from PIL import Image

from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.device.threads import encoder_thread
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.evaluate import character_edits
from pipeline.reports.progress import Silent
from pipeline.run.budget import heaviest_page_bytes
from pipeline.run.runner import run
from pipeline.stages.encode import EncodedPage
from pipeline.stages.render import render
from pipeline.stages.tile import tile
from pipeline.stop import Stop
from pipeline.types import DividedPage, Page, RenderedPage
from storage.database import open_for_reading
from storage.export.rows import export_rows
from tests.ocr.layout import pages
from tests.pipeline.checkpoints import READS_TEXT, TEXT
from tests.pipeline.runs import changed, encode_together

IN_CROPS = TileSettings(crops=True)

SMALL_PRINT = (
    "The harbour was built in the year of the great storm, when the old wall broke and the sea came up to the "
    "market place. It took nine years, and the stones were brought from the quarries of the north on flat boats. "
    "Each of the masters had a mark of his own, and the marks can still be seen at low water. The lamp on the "
    "mole was lit for the first time in autumn, and the keeper wrote in his book that twelve ships had come in. "
)


def ready(path: Path, kind: Any = "pdf", **settings: Any) -> RenderedPage | DividedPage:
    page = Page(path=str(path), sha256="0" * 64, kind=kind, page_index=0)
    images = render([page], RenderSettings(**settings), IN_CROPS, OpenDocuments())
    return tile(images, IN_CROPS)[0]


def save(page: pymupdf.Page, path: Path) -> Path:
    page.parent.save(path)
    return path


@pytest.fixture
def dense_pdf(tmp_path: Path) -> Path:
    """Small print, 5 pt, some 5,000 characters: a page in crops."""
    page = pages.new_page()
    pages.write(page, (70, 70, 525, 780), pages.words(1300), 5)
    return save(page, tmp_path / "dense.pdf")


def test_a_dense_page_of_a_pdf_is_rendered_as_finely_as_its_crops_need(dense_pdf: Path) -> None:
    found = ready(dense_pdf)
    assert isinstance(found, DividedPage)
    assert found.dpi is not None
    assert found.dpi > 160
    assert found.width_px == pytest.approx(595 / 72 * found.dpi, abs=2)
    for crop in found.crops:
        assert crop.rendered.width_px / crop.rendered.height_px == pytest.approx(
            crop.rendered.views.grid[0] / crop.rendered.views.grid[1], rel=0.01
        )
    assert found.num_bytes <= heaviest_page_bytes(IN_CROPS)
    fixed = ready(dense_pdf, dpi=155)
    assert isinstance(fixed, DividedPage)
    assert fixed.dpi == 155
    assert len(fixed.crops) == len(found.crops)


def test_a_page_that_is_read_whole_is_the_same_with_and_without_crops(tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    Image.fromarray(pages.ordinary()).save(picture)
    page = Page(path=str(picture), sha256="0" * 64, kind="image", page_index=0)
    whole = TileSettings(crops=False)
    (expected,) = tile(render([page], RenderSettings(), whole, OpenDocuments()), whole)
    found = ready(picture, "image")
    assert isinstance(expected, RenderedPage)
    assert isinstance(found, RenderedPage)
    assert np.array_equal(found.views.global_view, expected.views.global_view)
    assert np.array_equal(found.views.local_views, expected.views.local_views)
    assert (found.width_px, found.height_px, found.views.grid) == (
        expected.width_px,
        expected.height_px,
        expected.views.grid,
    )


@pytest.fixture
def config(tmp_path: Path, reader: Path) -> Config:
    values = {
        "ingest": {"paths": [str(tmp_path / "docs")]},
        "store": {"database": str(tmp_path / "results.db")},
        "model": str(reader),
        "tile": {"parts": "on", "mode": "gundam"},
        "decode": {"batch_size": 3},
    }
    return sources.load(None, READS_TEXT, [("test", values)])


@pytest.mark.slow
def test_crops_are_encoded_together_and_one_that_fails_costs_itself(
    dense_pdf: Path, tmp_path: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir(exist_ok=True)
    dense_pdf.rename(tmp_path / "docs" / "dense.pdf")
    sizes: list[int] = []
    real = encoder_thread.encode

    def overflows_once(encoder: Any, crops: Sequence[RenderedPage]) -> list[EncodedPage]:
        found = real(encoder, crops)
        if not sizes:
            tokens = found[0].tokens
            damaged = torch.full_like(tokens.tokens_TD, torch.nan)
            found[0] = replace(found[0], tokens=replace(tokens, tokens_TD=damaged))
        sizes.append(len(crops))
        return found

    monkeypatch.setattr(encoder_thread, "encode", overflows_once)
    encode_together(monkeypatch, 2)
    once = changed(config, decode={"max_tokens": 2000}, tile={"retry_below": 0.0}, ladder={"rungs": []})
    run(once, Silent(), Stop())
    (row,) = export_rows(open_for_reading(config.store.database))
    num_crops = sum(sizes)
    assert sizes == [2] * (num_crops // 2) + [1] * (num_crops % 2)
    assert row["status"] == "truncated"
    assert [text for text in row["text"].splitlines() if text] == [TEXT] * (num_crops - 1)


@pytest.mark.slow
def test_the_shipped_model_reads_small_print_in_crops(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    page = pages.new_page()
    text = (SMALL_PRINT * 3).strip()
    pages.write(page, (150, 120, 445, 780), text, 5)
    save(page, folder / "small.pdf")
    errors = {}
    for parts in ("on", "off"):
        database = str(tmp_path / f"{parts}.db")
        values = {
            "ingest": {"paths": [str(folder)]},
            "store": {"database": database},
            "reader": "page",
            "tile": {"parts": parts},
            "threads": 1,
            "text_layer": "ignore",
            "decode": {"max_tokens": 2500},
        }
        run(sources.load(None, [], [("test", values)]), Silent(), Stop())
        (row,) = export_rows(open_for_reading(database))
        errors[parts] = character_edits(text, row["text"]).rate
        if parts == "on":
            boxes = [block["box_px"] for block in row.get("blocks", []) if block.get("box_px")]
            for x0, y0, x1, y1 in boxes:
                assert 0 <= x0 < x1 <= row["width_px"]
                assert 0 <= y0 < y1 <= row["height_px"]
    assert errors["on"] < 0.05
    assert errors["on"] < 0.5 * errors["off"]
