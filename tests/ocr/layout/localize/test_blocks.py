"""The shipped model's own cells, on pages whose blocks are known."""

import json
from pathlib import Path

import numpy as np
import pymupdf
import pytest
import torch

from encoders.types import VisionTokens
from encoders.views import PageViews
from ocr.checkpoints import checkpoint
from ocr.imaging.tiling import views
from ocr.layout.localize.blocks import placed
from ocr.types import Block, ParsedText
from pipeline.cli.main import main
from pipeline.errors import ExitCode
from tests.benchmarks.layout.boxes import iou
from tests.ocr.layout.localize.drawn import Box

DPI = 90  # the page is one view of 640 px at most: quick to encode
TEXTS = [
    ("# The Garden in Winter", "title", 22, "hebo"),
    ("Nothing grows between the walls before March, and yet there is work to be done every single day.\n"
     "Branches are cut, tools are cleaned, and the seeds of last summer are sorted into paper bags.",
     "text", 12, "tiro"),
    ("Two things must not be forgotten: water for the birds and straw for the roses.", "text", 12, "helv"),
    ("7", "page_number", 12, "tiro"),
]  # fmt: skip


def drawn(rotation: float = 0.0) -> tuple[np.ndarray, list[Box]]:
    """A page of 500 x 300 points as pixels, and the boxes of its blocks."""
    with pymupdf.open() as document:
        page = document.new_page(width=500, height=300)
        base, boxes = 50.0, []
        turn = (pymupdf.Point(0, 0), pymupdf.Matrix(rotation))
        for text, _, size, font in TEXTS:
            lines = text.removeprefix("# ").split("\n")
            width = max(pymupdf.get_text_length(line, font, size) for line in lines)
            size *= min(1.0, 420 / width)
            width = max(pymupdf.get_text_length(line, font, size) for line in lines)
            for at, line in enumerate(lines):
                page.insert_text((30, base + 1.3 * size * at), line, fontname=font, fontsize=size, morph=turn)
            bottom = base + 1.3 * size * (len(lines) - 1) + 0.23 * size
            corners = pymupdf.Rect(30, base - 0.77 * size, 30 + width, bottom).quad
            boxes.append(tuple(corners.transform(pymupdf.Matrix(-rotation)).rect * (DPI / 72)))
            base = bottom + 40
        pixmap = page.get_pixmap(dpi=DPI)
        return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3), boxes


@pytest.fixture(scope="module")
def small() -> checkpoint.LoadedModel:
    return checkpoint.load("small", device="cpu", dtype=torch.float32)


def read(small: checkpoint.LoadedModel, pixels: np.ndarray) -> tuple[PageViews, VisionTokens]:
    page = views(pixels, "gundam", 2)
    with torch.inference_mode():
        return page, small.model.encoder.encode([page])[0]


@pytest.mark.slow
@pytest.mark.parametrize("rotation", [0.0, 1.5])
def test_known_texts_get_their_boxes(small: checkpoint.LoadedModel, rotation: float) -> None:
    pixels, boxes = drawn(rotation)
    page, tokens = read(small, pixels)
    blocks = tuple(Block(label=label, text=text, box_px=(600, 350, 620, 360)) for text, label, _, _ in TEXTS)
    parsed = ParsedText(
        text="", markdown="", blocks=(*blocks, Block(label="image", text="", box_px=(1, 2, 3, 4)))
    )
    found = placed(
        parsed, tokens.cells_HW.numpy(), small.characters, page, pixels.shape[1], pixels.shape[0]
    ).blocks
    overlaps = [iou(block.box_px, box) for block, box in zip(found, boxes, strict=False) if block.box_px]
    assert sum(overlap >= 0.5 for overlap in overlaps) >= 3, overlaps
    assert min(overlaps[1:3]) > 0.7, overlaps
    assert found[-1].box_px == (1, 2, 3, 4), "a picture keeps the box that the model gave"
    assert [(block.label, block.text) for block in found[:4]] == [
        (label, text) for text, label, _, _ in TEXTS
    ]


def test_without_a_head_or_names_everything_stays(small: checkpoint.LoadedModel) -> None:
    pixels, _ = drawn()
    page = views(pixels, "gundam", 2)
    parsed = ParsedText(text="a", markdown="a", blocks=(Block(label="text", text="a", box_px=(1, 2, 3, 4)),))
    assert placed(parsed, None, small.characters, page, 10, 10) is parsed
    seen = np.zeros((64, 256), np.int16)
    assert placed(parsed, seen, None, page, 10, 10) is parsed
    assert placed(parsed, seen, small.characters, page, 10, 10) == parsed, "nothing is seen: the box stays"


@pytest.mark.slow
def test_a_page_that_is_read_has_boxes_in_the_database(tmp_path: Path) -> None:
    pixels, boxes = drawn()
    file, database, output = tmp_path / "page.png", str(tmp_path / "read.db"), tmp_path / "pages.jsonl"
    pymupdf.Pixmap(pymupdf.csRGB, pixels.shape[1], pixels.shape[0], pixels.tobytes(), False).save(str(file))
    assert (
        main(["run", str(file), "--db", database, "--device", "cpu", "--quiet", "--set", "threads=1"])
        == ExitCode.OK
    )
    assert main(["export", "--db", database, "-o", str(output)]) == ExitCode.OK
    page = json.loads(output.read_text(encoding="utf-8"))
    for text, box in zip((text for text, *_ in TEXTS[:3]), boxes, strict=False):
        found = [block for block in page["blocks"] if block["text"][:12] == text.removeprefix("# ")[:12]]
        assert len(found) == 1, f"{text[:12]!r} is no block of its own in {page['blocks']}"
        assert iou(found[0]["box"], box) >= 0.5
