"""Fits a line reader's confidence.json on pages it was not trained on, and prints how well confidence is calibrated.

python -m ocr.training.calibrate.line_calibration PAGES TRUTH --reader ocr/weights/small/lines

TRUTH/PICTURE/1.txt is the text of PAGES/PICTURE, as `ocrbatch eval` and `tests.benchmarks.quality build-unseen` have
it. About two seconds a page. The printed figures are cross-validated: every page and block is rated by curves that
were fitted without that page.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from ocr.line_reader.line_confidence import block_features, line_signals, page_features
from ocr.line_reader.page_text import lines_of_text, page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.training.calibrate.reliability import (
    Rated,
    Reading,
    block_accuracies,
    calibrate,
    normalise,
    page_accuracy,
)


def read(pages: Path, truths: Path, reader: LineReader) -> Iterator[Reading]:
    """Reads the pictures of a folder and rates them. Pages on which no line is found yield nothing."""
    for number, file in enumerate(sorted(path for path in pages.iterdir() if path.is_file())):
        with Image.open(file) as picture:
            darkness = darkness_of(np.asarray(picture.convert("L")))
        found = reader.read(darkness, reader.find(darkness))
        truth = (truths / file.name / "1.txt").read_text(encoding="utf-8")
        parsed = page_text(found)
        kept = lines_of_text(found)
        if not kept:
            continue
        signals = line_signals(kept, num_left_out=sum(not read.is_rule for read in found) - len(kept))
        rated = Rated(
            features=page_features(signals), accuracy=page_accuracy(parsed.text, truth), group=number
        )
        yield Reading(rated=rated, raw=signals.mean, is_page=True)
        texts = [block.text for block in parsed.blocks]
        for block, accuracy in zip(parsed.blocks, block_accuracies(texts, truth), strict=True):
            mean = block.confidence or 0.0
            features, weight = block_features(mean, signals), len(normalise(block.text))
            rated = Rated(features=features, accuracy=accuracy, group=number, weight=weight)
            yield Reading(rated=rated, raw=mean, is_page=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m ocr.training.calibrate.line_calibration", description=__doc__
    )
    parser.add_argument("pages", type=Path, help="a folder of pictures that nothing was trained on")
    parser.add_argument("truth", type=Path, help="TRUTH/PICTURE/1.txt")
    parser.add_argument(
        "--reader", type=Path, required=True, help="its folder, which gets the confidence.json"
    )
    args = parser.parse_args()
    calibrate(list(read(args.pages, args.truth, LineReader.load(args.reader))), args.reader)


if __name__ == "__main__":
    main()
