"""Packages trained weights in the form that ships: `python -m ocr.training.package WEIGHTS DATA OUT`."""

import argparse
import shutil
from pathlib import Path

from tokenizers import Tokenizer

from ocr.checkpoints import checkpoint
from ocr.model.deepseek_ocr import OcrModel
from ocr.training.small import small_config
from ocr.training.train import load_weights

# Steps of eight bits that are wider than need be, so that the model and its line reader take less than 24 MiB. CLIP's
# matrices bear it best by far: of a page's 426 likeliest tokens none changes with steps 15 times as wide, but three
# change with SAM's 3 times as wide, and 3% of ten pages' with the language model's.
WIDE = {"model.vision_model.transformer.": 15}


def package(weights: Path, data: Path, out: Path) -> None:
    """Writes config.json, model.safetensors at 8 bits, tokenizer.json and characters.json (those it was trained on)."""
    model = OcrModel.from_config(small_config())
    load_weights(model, weights)
    tokenizer = Tokenizer.from_file(str(data / "tokenizer.json"))
    checkpoint.save(model, out, tokenizer=tokenizer, int8=True, wide=WIDE)
    shutil.copyfile(data / "characters.json", out / "characters.json")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m ocr.training.package", description=__doc__)
    parser.add_argument(
        "weights", type=Path, help="folder of part-*.safetensors that ocr.training.train wrote"
    )
    parser.add_argument("data", type=Path, help="what ocr.training.corpus and .tokenize made")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    package(args.weights, args.data, args.out)
