"""Fits a model's confidence.json on pages it was not trained on, and prints how well confidence is calibrated.

python -m ocr.training.heldout DATA PAGES --pages 80
python -m ocr.training.calibrate PAGES MODEL

About six seconds a page on two cores. The printed figures are cross-validated: every page and block is rated by
curves that were fitted without that page.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from encoders.views import UInt8Array
from ocr.checkpoints import checkpoint
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import settings_for
from ocr.imaging.tiling import views
from ocr.model_files.locate import find_directory
from ocr.training.calibrate.reliability import (
    Rated,
    Reading,
    block_accuracies,
    calibrate,
    normalise,
    page_accuracy,
)
from ocr.transcript import grounding
from ocr.transcript.confidence import block_features, page_features, signals
from ocr.types import Transcript

_BATCH = 8
_MAX_TILES = 6


def read(folder: Path, model: str) -> Iterator[Reading]:
    """Reads folder/pages as a run does, against folder/truth/<name>/1.txt.

    Pages that are returned without text yield nothing: they have no confidence.
    """
    loaded = checkpoint.load(model, device="cpu", dtype=torch.float32)
    files = sorted((folder / "pages").iterdir())
    for start in range(0, len(files), _BATCH):
        part = files[start : start + _BATCH]
        for number, (file, found) in enumerate(zip(part, _read_batch(loaded, part), strict=True), start):
            truth = (folder / "truth" / file.name / "1.txt").read_text(encoding="utf-8")
            yield from _rate(loaded, number, file.name.split("-")[0], found, truth)
        print(f"{start + len(part)} of {len(files)} pages read", flush=True)


def _pixels(file: Path) -> UInt8Array:
    """Returns the page as [H, W, 3] RGB."""
    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB"))


@torch.inference_mode()
def _read_batch(
    loaded: checkpoint.LoadedModel, files: Sequence[Path]
) -> list[tuple[Transcript, tuple[int, int]]]:
    """Returns each page's transcript with its (width, height) in pixels."""
    images = [_pixels(file) for file in files]
    vision = loaded.model.encoder.encode([views(image, "gundam", _MAX_TILES) for image in images])
    requests = [PageRequest(vision=tokens, settings=settings_for("image")) for tokens in vision]
    found = loaded.engine(prompt=loaded.prompt, num_slots=len(images)).read(requests)
    transcripts = {page.index: page.transcript for page in found}
    return [(transcripts[number], image.shape[1::-1]) for number, image in enumerate(images)]


def _rate(
    loaded: checkpoint.LoadedModel,
    number: int,
    kind: str,
    found: tuple[Transcript, tuple[int, int]],
    truth: str,
) -> Iterator[Reading]:
    transcript, (width_px, height_px) = found
    if not transcript.logprobs:
        return
    parsed = grounding.parse(transcript.raw, width_px=width_px, height_px=height_px)
    page, blocks = signals(parsed, transcript, loaded.tokenizer)
    accuracy = page_accuracy(parsed.text, truth)
    rated = Rated(features=page_features(page), accuracy=accuracy, group=number)
    accuracies = block_accuracies([block.text for block in parsed.blocks], truth)
    yield Reading(rated=rated, raw=float(np.exp(-page.surprise)), kind=kind, is_page=True)
    for block, found_signals, accuracy in zip(parsed.blocks, blocks, accuracies, strict=True):
        rated = Rated(
            features=block_features(found_signals, page),
            accuracy=accuracy,
            group=number,
            weight=len(normalise(block.text)),
        )
        yield Reading(rated=rated, raw=float(np.exp(-found_signals.surprise)), kind=kind, is_page=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.calibrate", description=__doc__)
    parser.add_argument("pages", type=Path, help="what ocr.training.heldout made")
    parser.add_argument("model", help="a directory with a checkpoint, or small; gets its confidence.json")
    args = parser.parse_args()
    calibrate(list(read(args.pages, args.model)), find_directory(args.model))


if __name__ == "__main__":
    main()
