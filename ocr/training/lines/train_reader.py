"""Trains the network that reads a line of text (ocr.line_networks.reader_net):

python -m ocr.training.lines.train_reader --data DIR --out DIR --minutes 20 --workers 14

Writes reader.safetensors and reader.json. The schedule follows the clock.
"""

import argparse
import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from rapidfuzz.distance import Levenshtein
from torch import Tensor, nn
from torch.nn import functional as F

from ocr.learning.learning_loop import Losses, MeanWeights
from ocr.learning.line_learning import BLANK, FIRST_CLASS, classes_of, ctc_loss, read_frames, spelled
from ocr.line_networks.reader_net import ReaderNet, open_net
from ocr.line_reader.networks import ReaderSizes
from ocr.training.lines.line_batches import Lines, LineShelves, cut_lines
from ocr.training.lines.line_training import LineTraining, parser
from ocr.training.lines.page_streams import UNKNOWN, LineBatch, ReaderPages

_DECAY, _BETAS = 0.03, (0.9, 0.98)
_WEAR = (0.5, 1.0, 1.0, 1.1, 1.1, 1.4)  # strengths, drawn anew whenever a page is used
_CHECKED = (0.0, 1.0)  # strengths at which held-out pages are read
_SURE = 4.0  # a power of a teacher's probabilities
_LESS_LIKELY = 6.0  # a logit: an a is made to many letters, which together must not make it unsure


def fast(net: ReaderNet) -> ReaderNet:
    """Returns the network with its stem's weights laid out as a GPU is fastest with."""
    net.stem.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return net


def losses(net: ReaderNet, lines: Lines, teacher: ReaderNet | None = None) -> Losses:
    """Returns the losses of a batch, each per character. Lines without a label need a teacher, who reads them.

    It teaches frame by frame: what it reads, or, where that is not the label, the frames in which it would tell that.
    """
    log_probs, frames = read_frames(net, lines.images, lines.widths)
    if teacher is None:
        return {"ctc": ctc_loss(log_probs, frames, lines.labels)}
    with torch.no_grad():
        taught, counted = read_frames(teacher, lines.images, lines.widths)
    best = taught.argmax(-1).cpu()
    read = [spelled(row[:count]) for row, count in zip(best, counted.tolist(), strict=True)]
    labels = [r if its.tolist() == [UNKNOWN] else its for r, its in zip(read, lines.labels, strict=True)]
    is_right = torch.tensor([torch.equal(*pair) for pair in zip(read, labels, strict=True)])[:, None, None]
    told = torch.where(is_right.to(taught.device), taught.exp(), aligned(taught, counted, labels))
    return {"ctc": ctc_loss(log_probs, frames, labels), "teacher": teacher_loss(log_probs, told, counted)}


def aligned(log_probs: Tensor, frames: Tensor, labels: list[Tensor]) -> Tensor:
    """Returns how likely frames tell each class, were the lines known to read as labelled. [N, T, C] both.

    CTC's gradient is what frames tell, less that. A letter's likely frame is made likelier: it is told in one only.
    """
    if not any(map(len, labels)):
        return (torch.arange(log_probs.shape[2]) == BLANK).to(log_probs).expand_as(log_probs)
    sure = (_SURE * log_probs).requires_grad_()
    with torch.enable_grad():
        loss = sum(max(1, len(label)) for label in labels) * ctc_loss(sure, frames, labels)
    [gradient] = torch.autograd.grad(loss, sure)
    return (sure.detach().exp() - gradient).clamp(min=0)


def teacher_loss(log_probs: Tensor, taught: Tensor, counted: Tensor) -> Tensor:
    """Returns how far frames are from a teacher's, for each of its letters: the Kullback-Leibler divergence.

    log_probs, taught (probabilities): [N, T, C], of which `counted` [N] count. Source: Hinton et al. 2015, Distilling
    the Knowledge in a Neural Network.
    """
    inside = torch.arange(taught.shape[1], device=taught.device)[None] < counted[:, None]
    apart = F.kl_div(log_probs, taught, reduction="none").sum(-1)
    return (apart * inside).sum() / ((taught.argmax(-1) != BLANK) & inside).sum().clamp(min=1)


@torch.no_grad()
def readings(
    net: nn.Module, batch: LineBatch, device: torch.device, strength: float
) -> Iterator[tuple[list[int], list[int]]]:
    """Yields what is read in each line, cut as a finder would, and its label. net: in evaluation mode."""
    for lines in cut_lines(batch, device, strength):
        log_probs, frames = read_frames(net, lines.images, lines.widths)
        best = log_probs.argmax(-1).cpu()
        for row, count, label in zip(best, frames.tolist(), lines.labels, strict=True):
            yield spelled(row[:count]).tolist(), label.tolist()


def with_more(net: ReaderNet, known: str, characters: str) -> ReaderNet:
    """Returns the network with classes for all of the characters, which begin with those known.

    A new letter begins as a less likely one of what it is made of: as the e of an ẹ.
    """
    classes = classes_of(known)
    made_of = [classes.get(unicodedata.normalize("NFD", c)[0], BLANK) for c in characters[len(known) :]]
    rows = [*range(net.num_classes), *made_of]
    wide, state = ReaderNet(replace(net.sizes, num_classes=len(rows))), net.state_dict()
    for name in ("head.weight", "head.bias"):
        state[name] = state[name].unflatten(0, (net.frames, -1))[:, rows]
    state["head.bias"][:, net.num_classes :] -= _LESS_LIKELY
    wide.load_state_dict(state | {n: state[n].flatten(0, 1) for n in ("head.weight", "head.bias")})
    return wide


class ReaderTraining(LineTraining[LineBatch]):
    """Trains a ReaderNet. One that goes on keeps the running means of its batch norms."""

    drawn, flat, warm_up = ReaderPages, 0.25, 300
    net: ReaderNet

    def __init__(self, args: argparse.Namespace, shape: Mapping[str, Any] | None = None) -> None:
        super().__init__(args)
        sizes = ReaderSizes(num_classes=len(self.characters) + FIRST_CLASS, **(shape or {}))
        net = (
            self._opened(args.weights).eval() if args.weights else fast(ReaderNet(sizes))
        )  # norms' means stay
        self.net = net.to(self.device)
        self.teacher = self._opened(args.teacher).to(self.device) if args.teacher else None
        if self.teacher is not None:
            self.teacher.eval().requires_grad_(False)
            if (self.teacher.frames, self.teacher.step_px) != (self.net.frames, self.net.step_px):
                raise ValueError(f"{args.teacher} tells lines in other frames")
        self.mean = MeanWeights(self.net, every=8, keep=0.995, young=200)
        matrices = [p for p in self.net.parameters() if p.ndim > 1]
        rest = [p for p in self.net.parameters() if p.ndim < 2]
        self.optimiser = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": _DECAY}, {"params": rest, "weight_decay": 0.0}],
            args.rate,
            betas=_BETAS,
            fused=self.device.type == "cuda",
        )

    def steps(self, draw: Callable[[], LineBatch]) -> Callable[[], Losses]:
        shelves = LineShelves(
            fetch=lambda: cut_lines(draw(), self.device, random.choice(_WEAR)), batch_px=self.args.batch_px
        )
        return lambda: losses(self.net, shelves.draw(), self.teacher)

    def _opened(self, folder: Path) -> ReaderNet:
        net, characters = open_net(folder)
        if not self.characters.startswith(characters):
            raise ValueError(f"{folder} knows other characters than {self.args.data}/characters.json")
        return fast(with_more(net, characters, self.characters)).to(self.device)

    def score(self, held_out: dict[str, list[LineBatch]]) -> str:
        """Returns what the mean of the weights reads wrong, on clean and on worn pages of each kind."""
        told = []
        # Every batch has another shape here, and cuDNN would plan each of its convolutions anew.
        with torch.backends.cudnn.flags(enabled=False):
            for kind, batches in held_out.items():
                for strength in _CHECKED:
                    each = (readings(self.mean.net, batch, self.device, strength) for batch in batches)
                    read = list(chain.from_iterable(each))
                    wrong = sum(Levenshtein.distance(*pair) for pair in read if pair[1])
                    share = wrong / sum(len(label) for _, label in read)
                    made = [len(text) for text, label in read if not label]
                    told.append(f"{kind}wear {strength:g}: {share:.2%} wrong")
                    told.append(f"{sum(made) / max(1, len(made)):.2f} characters in a line without text")
        return ", ".join(told)

    def save(self) -> None:
        """Writes the mean of the weights and what they know, for `LineReader.load`."""
        self.mean.save(self.args.out / "reader.safetensors")
        config = {**asdict(self.net.sizes), "characters": self.characters}
        del config["num_classes"]
        (self.args.out / "reader.json").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    made = parser("train_reader", __doc__, pages=16, held=20, uses=6.0, rate=1.5e-3, real=0.35, scans=0.12)
    made.add_argument("--batch-px", type=int, default=360_000, help="pixels of width of a batch of lines")
    made.add_argument("--teacher", type=Path, help="folder of a reader whose letters are learned, too")
    return made.parse_args(given)


if __name__ == "__main__":
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every length
    ReaderTraining(arguments()).run()
