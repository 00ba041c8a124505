"""The shipped model reads a real page on a CUDA device in bf16, through the paged engine and its graphs."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding import decode_pages as decoding
from ocr.decoding.decode_pages import DecodeOutput, decode_pages
from ocr.decoding.gpu.forward.step_graphs import BUCKETS
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.sequence.page_reading import settings_for
from ocr.imaging.tiling import views
from ocr.speculative.page_draft import drafts_for
from ocr.transcript import grounding
from pipeline.config.schema import Config
from pipeline.device.startup.loading import open_paged
from pipeline.evaluate import character_edits

TESTS = Path(__file__).parents[3]
LETTER = TESTS / "samples" / "letter.png"
TRUTH = (TESTS / "truth" / "letter.png" / "1.txt").read_text(encoding="utf-8")


def read_letters(
    loaded: LoadedModel, paged: PagedReader | None, copies: int, *, drafts: bool = False
) -> tuple[list[str], DecodeOutput]:
    """The text of so many copies, and what decoding says of them. drafts: of what it says."""
    with Image.open(LETTER) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    with torch.inference_mode():
        (tokens,) = loaded.model.encoder.encode([views(pixels, "gundam", 6)])
    source = drafts_for(loaded.tokenizer)
    output = decode_pages(
        loaded,
        [tokens] * copies,
        prompt=loaded.prompt,
        settings=[settings_for("image")] * copies,
        drafts=[source.of(TRUTH) for _ in range(copies)] if drafts else None,
        paged=paged,
    )
    height, width = pixels.shape[:2]
    return [
        grounding.parse(page.raw, width_px=width, height_px=height).text for page in output.transcripts
    ], output


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_shipped_model_reads_a_letter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = checkpoint.load("small", device="cuda", dtype=torch.bfloat16)
    opened = open_paged(loaded, Config.model_validate({"decode": {"drafts": True}}))
    assert "paged engine" not in caplog.text
    assert opened is not None
    # Nothing else may read from here on.
    monkeypatch.setattr(decoding, "Engine", lambda *_, **__: pytest.fail("read without the paged engine"))
    for copies in (3, 40):  # fewer than the slots, and more
        read_well(loaded, opened, copies)
    steps = opened.stats.steps
    output = read_well(loaded, opened, 40, drafts=True)
    assert opened.stats.accepted > 0
    assert opened.stats.steps - steps < 2 * max(map(len, (page.token_ids for page in output.transcripts)))
    opened.close()
    warm = PagedReader.open(loaded, slots=32, max_tokens=8192)
    assert warm._engine is not None
    warm._engine.warm_up(BUCKETS)
    # And nothing be captured again.
    monkeypatch.setattr(DeviceSteps, "capture", lambda *_: pytest.fail("captured while reading"))
    for copies in (3, 40):
        read_well(loaded, warm, copies)
    warm.close()


def read_well(loaded: LoadedModel, paged: PagedReader, copies: int, *, drafts: bool = False) -> DecodeOutput:
    texts, output = read_letters(loaded, paged, copies, drafts=drafts)
    assert [page.finish for page in output.transcripts] == ["eos"] * copies
    for text in texts:
        edits = character_edits(TRUTH, text)
        assert edits.rate < 0.05, f"character error rate {edits.rate:.2%}"
    assert output.prefill_s > 0
    assert output.generate_s > 0
    return output
