"""Trains the network that finds lines of text (ocr.line_networks.finder_net):

python -m ocr.training.lines.train_finder --data DIR --out DIR --minutes 5 --workers 14

Writes finder.safetensors. The schedule follows the clock.
"""

import argparse
import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ocr.int8 import fill
from ocr.learning.learning_loop import Losses, MeanWeights
from ocr.line_networks.finder_net import FinderNet
from ocr.line_reader.networks import DROP_PX
from ocr.training.augment.degrade import worn_darkness
from ocr.training.lines.finder_targets import HALVING
from ocr.training.lines.line_training import LineTraining, parser
from ocr.training.lines.page_streams import CellBatch, FinderPages

_DECAY = 0.02
_WEAR = (0.5, 1.0, 1.2, 1.5)  # strengths, drawn anew whenever a page is used
_TEXT_WEIGHT = 3.0  # of a cell of text against one of paper, of which there are more

# Of half of the pages: the range of shades, and how dark paper is.
_SHADED, _CONTRAST, _PAPER = 0.5, (0.5, 1.1), (-0.1, 0.35)
# As of a book on a dark lid: shares of batches and of their edges, how wide, how dark.
_EDGED, _EDGES, _EDGE_PX, _EDGE_DARK = 0.25, 0.4, (4, 60), (0.3, 1.0)


def finder_losses(outputs: Tensor, cells: Tensor) -> Losses:
    """Returns the losses: of the cells' text, twice, and of the baseline and the size where text is.

    outputs: [B, 3, H, W] FinderNet's. cells: the same, as `finder_targets.targets` has them.
    Source: Milletari et al. 2016, V-Net, for the Dice loss.
    """
    known = (cells[:, 0] >= 0).float()
    text = cells[:, 0].clamp(min=0)
    each = F.binary_cross_entropy_with_logits(outputs[:, 0], text, reduction="none")
    found = outputs[:, 0].sigmoid() * known
    off = ((outputs[:, 1:] - cells[:, 1:]).abs() * text[:, None]).sum((0, 2, 3)) / text.sum().clamp(min=1)
    return {
        "text": (each * known * (1 + (_TEXT_WEIGHT - 1) * text)).sum() / known.sum(),
        "dice": 1 - (2 * (found * text).sum() + 1) / (found.sum() + text.sum() + 1),
        "drop": off[0],
        "size": off[1],
    }


def _as_scanned(darkness: Tensor) -> Tensor:
    """Returns pages [P, 1, H, W] with less contrast on darker paper, half of the time, or with edges as dark strips."""
    if random.random() < _SHADED:
        darkness = darkness * random.uniform(*_CONTRAST) + random.uniform(*_PAPER)
    if random.random() < _EDGED:
        for side in range(4):
            if random.random() < _EDGES:
                px, dark = random.randint(*_EDGE_PX), random.uniform(*_EDGE_DARK)
                edges = darkness[:, :, :px], darkness[:, :, -px:], darkness[..., :px], darkness[..., -px:]
                edges[side].clamp_(min=dark)
    return darkness


class FinderTraining(LineTraining[CellBatch]):
    """Trains a FinderNet."""

    drawn, flat = FinderPages, 0.3

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.net = FinderNet().to(self.device).train()
        if args.weights:
            fill(self.net, args.weights / "finder.safetensors")
        self.mean = MeanWeights(self.net, every=4, keep=0.98, young=40)
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(), args.rate, weight_decay=_DECAY, fused=self.device.type == "cuda"
        )

    def steps(self, draw: Callable[[], CellBatch]) -> Callable[[], Losses]:
        return lambda: self.losses(draw(), random.choice(_WEAR))

    def losses(self, batch: CellBatch, strength: float) -> Losses:
        """Returns the losses on pages worn anew."""
        with torch.no_grad():
            darkness = worn_darkness(batch.pixels.to(self.device), strength)
            halved = _as_scanned(F.avg_pool2d(darkness, HALVING))
        return finder_losses(self._outputs(self.net, halved), batch.cells.to(self.device).float())

    def _outputs(self, net: nn.Module, halved: Tensor) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            outputs: Tensor = net(halved)
        return outputs.float()

    @torch.no_grad()
    def score(self, held_out: dict[str, list[CellBatch]]) -> str:
        """Returns how well the mean of the weights finds the text of clean pages, and how far baselines are off."""
        told = []
        for kind, batches in held_out.items():
            shown = (F.avg_pool2d(worn_darkness(b.pixels.to(self.device), 0.0), HALVING) for b in batches)
            parts = [
                finder_losses(self._outputs(self.mean.net, halved), batch.cells.to(self.device).float())
                for halved, batch in zip(shown, batches, strict=True)
            ]
            dice, drop = (sum(float(part[name]) for part in parts) / len(parts) for name in ("dice", "drop"))
            told.append(f"{kind}F1 of cells {1 - dice:.3f}, baselines {DROP_PX * drop:.2f} px off")
        return ", ".join(told)

    def save(self) -> None:
        self.mean.save(self.args.out / "finder.safetensors")


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    made = parser(
        "train_finder", __doc__, pages=12, held=24, uses=float("inf"), rate=2e-3, real=0.45, scans=0.15
    )
    return made.parse_args(given)


if __name__ == "__main__":
    FinderTraining(arguments()).run()
