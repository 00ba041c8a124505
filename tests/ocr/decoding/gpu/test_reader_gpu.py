"""The shipped model reads a real page on a CUDA device in bf16, through the paged engine and its graphs."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.gpu.forward.step_graphs import BUCKETS
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import settings_for
from ocr.imaging.tiling import views
from ocr.transcript import grounding
from pipeline.config.schema import Config
from pipeline.device.startup.loading import open_paged
from pipeline.evaluate import character_edits

TESTS = Path(__file__).parents[3]
LETTER = TESTS / "samples" / "letter.png"
TRUTH = (TESTS / "truth" / "letter.png" / "1.txt").read_text(encoding="utf-8")


def read_letters(loaded: LoadedModel, paged: PagedReader, copies: int) -> list[str]:
    """The text of so many copies of a letter, all read well."""
    with Image.open(LETTER) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    with torch.inference_mode():
        (tokens,) = loaded.model.encoder.encode([views(pixels, "gundam", 6)])
    request = PageRequest(vision=tokens, settings=settings_for("image"))
    found = list(paged.read([request] * copies))
    assert [page.transcript.finish for page in found] == ["eos"] * copies
    assert all(page.prefill_s > 0 and page.generate_s > 0 for page in found)
    height, width = pixels.shape[:2]
    return [grounding.parse(page.transcript.raw, width_px=width, height_px=height).text for page in found]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_shipped_model_reads_a_letter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = checkpoint.load("small", device="cuda", dtype=torch.bfloat16)
    opened = open_paged(loaded, Config())
    assert "paged engine" not in caplog.text
    assert opened is not None
    for copies in (3, 40):  # fewer than the slots, and more
        read_well(loaded, opened, copies)
    opened.close()
    warm = PagedReader.open(loaded, prompt=loaded.prompt, slots=32, max_tokens=8192)
    assert warm._engine is not None
    warm._engine.warm_up(BUCKETS)
    # And nothing be captured again.
    monkeypatch.setattr(DeviceSteps, "capture", lambda *_: pytest.fail("captured while reading"))
    for copies in (3, 40):
        read_well(loaded, warm, copies)
    warm.close()


def read_well(loaded: LoadedModel, paged: PagedReader, copies: int) -> None:
    for text in read_letters(loaded, paged, copies):
        edits = character_edits(TRUTH, text)
        assert edits.rate < 0.05, f"character error rate {edits.rate:.2%}"
