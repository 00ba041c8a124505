"""Trains the network that tells which way up a piece of a line is (ocr.orientation.net):

python -m ocr.training.line_orientation DATA OUT --pages 1000 --seconds 60

DATA is an ocr.training.corpus folder, OUT the safetensors file. Takes minutes on a GPU.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pymupdf
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.numpy import save_file
from torch import Tensor, nn

from encoders.views import UInt8Array
from ocr.imaging.ink import contrast_and_print
from ocr.imaging.measures import ORIENTATION_INK
from ocr.learning.learning_loop import Losses, MeanWeights, Schedule, learn
from ocr.orientation.line_samples import pieces
from ocr.orientation.net import FIRST, SECOND
from ocr.training.augment.degrade import degraded_page
from ocr.training.pages.compose import composed
from ocr.training.pages.page_source import USELESS_DRAW, PageSource
from ocr.training.pages.page_truth import Sheet, extract

_CHANNELS = (12, 24, 24)
_PIECES = 40
_MIN_CHARS = 150
# First and last letters of the alphabets that random words are made of; the reader knows only Latin.
_SCRIPTS = (
    (0x410, 0x450), (0x391, 0x3CA), (0x5D0, 0x5EB), (0x621, 0x64B), (0x905, 0x93A), (0xE01, 0xE2F), (0x10D0, 0x10F1),
    (0x561, 0x587), (0x4E00, 0x9FA5), (0xAC00, 0xD7A4), (0x3041, 0x30F7), (0x985, 0x9BA), (0xB85, 0xBBA),
)  # fmt: skip
# Shares of pages: documents, composed ones, other scripts; the rest are pictures.
_SHARES = (0.55, 0.82, 0.90)

Ints = npt.NDArray[np.int64]
Draw = Callable[[float], UInt8Array]


class Network(nn.Module):
    """The network of ocr.orientation.net, in PyTorch for training."""

    def __init__(self) -> None:
        super().__init__()
        first, second, column = _CHANNELS
        self.first = nn.Conv2d(1, first, FIRST[:2], stride=FIRST[2:])
        self.second = nn.Conv2d(first, second, SECOND[:2], stride=SECOND[2:])
        self.column = nn.Conv1d(5 * second, column, 1)
        self.out = nn.Linear(column, 2)

    def forward(self, pieces: Tensor) -> Tensor:
        """Returns the scores [N, 3] of upright, upside down and no text for [N, H, W]."""
        here, turned = self._outputs(torch.cat([pieces, pieces.flip(1, 2)])).chunk(2)
        return torch.stack([here[:, 0], turned[:, 0], here[:, 1] + turned[:, 1]], 1)

    def _outputs(self, pieces: Tensor) -> Tensor:
        x = F.relu(self.second(F.relu(self.first(pieces[:, None]))))
        columns = x.permute(0, 2, 1, 3).flatten(1, 2)
        scores: Tensor = self.out(F.relu(self.column(columns)).mean(2))
        return scores

    def weights(self) -> dict[str, npt.NDArray[np.float16]]:
        """Returns the weights in the layout of the numpy network."""
        matrices = {
            "first.weight": self.first.weight.permute(2, 3, 1, 0).flatten(0, 2),
            "second.weight": self.second.weight.permute(2, 3, 1, 0).flatten(0, 2),
            "column.weight": self.column.weight[:, :, 0].T,
            "out.weight": self.out.weight.T,
        }
        biases = {f"{name}.bias": getattr(self, name).bias for name in ("first", "second", "column", "out")}
        return {name: t.detach().cpu().half().contiguous().numpy() for name, t in (matrices | biases).items()}


def sources(rng: random.Random, data: Path) -> Iterator[tuple[Draw, bool]]:
    """Yields pages without end: a function that draws one at a longer side in pixels, and whether it has text.

    Nearly all text of a document's page runs from left to right: others have no truth.
    """
    source = PageSource(data)
    pictures = source.pictures
    while True:
        kind = rng.random()
        try:
            if kind < _SHARES[0]:
                with source.real(rng) as sheet:
                    if len(extract(sheet).text) >= _MIN_CHARS:
                        yield _drawing(sheet), True
            elif kind < _SHARES[1]:
                yield _drawing(composed(rng, source)), True
            elif kind < _SHARES[2]:
                with _other_script(rng) as document:
                    yield _drawing(Sheet.of(document[0])), True
            else:
                yield lambda side_px: pictures.page(rng, round(0.7 * side_px), round(side_px)), False
        except USELESS_DRAW:
            continue


def pieces_of(rng: random.Random, draw: Draw, *, text: bool) -> Iterator[tuple[UInt8Array, Ints]]:
    """Yields a page's pieces, worn and turned at random: [N, H, W] uint8, and labels (0 upright, 2 no level text)."""
    turns = rng.randrange(4)
    drawn = worn(rng, draw(rng.uniform(900, 2300)))
    side_px = rng.uniform(780, 2000)
    image = Image.fromarray(np.ascontiguousarray(np.rot90(drawn, turns)))
    image.thumbnail((side_px, side_px), Image.Resampling.BOX)
    contrast, ink = contrast_and_print(image, ORIENTATION_INK)
    for quarter in range(2):
        found = pieces(contrast, ink, _PIECES, quarter)
        total = (turns + quarter) % 4
        if total == 2:
            found = found[:, ::-1, ::-1]
        label = 0 if text and total % 2 == 0 else 2
        yield (found * 255).astype(np.uint8), np.full(len(found), label)


def worn(rng: random.Random, page: UInt8Array) -> UInt8Array:
    """Returns the page as a poor scan shows it, [H, W] uint8."""
    grey = 255 - page if rng.random() < 0.06 else page
    if rng.random() < 0.5:
        turned = Image.fromarray(grey)
        grey = np.asarray(
            turned.rotate(rng.gauss(0, 2), Image.Resampling.BILINEAR, fillcolor=int(np.median(grey)))
        )
    torch.manual_seed(rng.randrange(2**31))
    return degraded_page(grey, rng.uniform(0.5, 2.0))


def train(pieces: UInt8Array, labels: Ints, seconds: float, device: str) -> Network:
    """Returns a network trained for this many seconds."""
    torch.manual_seed(0)
    network = Network().to(device)
    inputs, answers = torch.from_numpy(pieces).to(device), torch.from_numpy(labels).to(device)
    mean = MeanWeights(network, every=1, keep=0.98, young=20)

    def losses() -> Losses:
        index = torch.randint(0, len(inputs), (1536,), device=device)
        seen = inputs[index].float() / 255
        seen = torch.roll(seen, (random.randint(-1, 1), random.randint(-6, 6)), (1, 2))
        gain, grain = torch.rand(2, len(seen), 1, 1, device=device)
        seen = (seen * (0.8 + 0.3 * gain) + 0.12 * grain * torch.randn_like(seen)).clamp(0, 1)
        return {"pieces": F.cross_entropy(network(seen), answers[index], label_smoothing=0.01)}

    learn(
        torch.optim.AdamW(network.parameters(), 6e-3, weight_decay=2e-3),
        Schedule(minutes=seconds / 60, flat=0.0, warm_up=200),
        mean,
        losses,
        lambda: f"{len(pieces)} pieces",
    )
    network.load_state_dict(mean.net.state_dict())
    return network


def _drawing(sheet: Sheet) -> Draw:
    return lambda side_px: sheet.grey(side_px / max(sheet.width_pt, sheet.height_pt))


def _other_script(rng: random.Random) -> "pymupdf.Document":
    first, end = rng.choice(_SCRIPTS)
    letters = [chr(rng.randrange(first, end)) for _ in range(900 if end - first > 1000 else 60)]
    words = ("".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(rng.randint(80, 700)))
    document = pymupdf.open()
    style = f"* {{font-size: {rng.randint(9, 16)}px}}"
    document.new_page().insert_htmlbox((50, 50, 545, 790), " ".join(words), css=style)
    return document


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.line_orientation", description=__doc__)
    parser.add_argument("data", type=Path, help="what ocr.training.corpus made")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    rng = random.Random(0)
    found: list[tuple[UInt8Array, Ints]] = []
    for number, (draw, text) in enumerate(sources(rng, args.data)):
        if number == args.pages:
            break
        for _ in range(2):
            found += pieces_of(rng, draw, text=text)
    pieces, labels = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    print(f"{len(pieces)} pieces of {args.pages} pages")
    network = train(pieces, labels, args.seconds, "cuda" if torch.cuda.is_available() else "cpu")
    save_file(network.weights(), args.out)


if __name__ == "__main__":
    main()
