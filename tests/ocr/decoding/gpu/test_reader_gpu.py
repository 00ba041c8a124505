"""A model reads a real page on a CUDA device in bf16, through the paged engine and its graphs."""

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
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.imaging.tiling import views
from pipeline.config.schema import Config
from pipeline.device.startup.loading import open_paged
from tests.faults.rig.model import save_words

LETTER = Path(__file__).parents[3] / "samples" / "letter.png"
# No pair of words twice: random weights repeat themselves otherwise. The letter has 903 vision tokens.
LIMITS = DecodeSettings(max_tokens=1500, ngram_size=2, ngram_window=300)


def read(loaded: LoadedModel, paged: PagedReader, copies: int) -> None:
    """Reads so many copies of a letter, all to some end."""
    with Image.open(LETTER) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    with torch.inference_mode():
        (tokens,) = loaded.model.encoder.encode([views(pixels, "gundam", 6)])
    found = list(paged.read([PageRequest(vision=tokens, settings=LIMITS)] * copies))
    assert sorted(page.index for page in found) == list(range(copies))
    assert all(page.transcript.token_ids for page in found)
    assert all(page.prefill_s > 0 and page.generate_s > 0 for page in found)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_letter_is_read_and_nothing_is_captured_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = checkpoint.load(str(save_words(tmp_path)), device="cuda", dtype=torch.bfloat16)
    opened = open_paged(loaded, Config())
    assert "paged engine" not in caplog.text
    assert opened is not None
    for copies in (3, 40):  # fewer than the slots, and more
        read(loaded, opened, copies)
    opened.close()
    warm = PagedReader.open(loaded, prompt=loaded.prompt, slots=32, max_tokens=8192)
    assert warm._engine is not None
    warm._engine.warm_up(BUCKETS)
    # And nothing be captured again.
    monkeypatch.setattr(DeviceSteps, "capture", lambda *_: pytest.fail("captured while reading"))
    for copies in (3, 40):
        read(loaded, warm, copies)
    warm.close()
