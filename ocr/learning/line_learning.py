"""What trainings of the network that reads lines share: its loss, what it says; and further training
on line images whose text is known.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import torch
from rapidfuzz.distance import Levenshtein
from torch import Tensor, nn
from torch.nn import functional as F

from ocr.learning.learning_loop import Losses, MeanWeights, Schedule, learn
from ocr.line_networks.reader_net import ReaderNet
from ocr.line_reader.line_images import HEIGHT_PX, RANGE
from ocr.line_reader.networks import STEP_PX

BLANK, SPACE, FIRST_CLASS = 0, 1, 2  # classes; the characters' follow
_OTHERWISE = 0.6  # share of wrong characters from which a text is hardly that of the line
_DECAY, _BETAS = 0.01, (0.9, 0.98)
# The most that wear does to a line image at strength 1: shift and stretch down, blur, grain, lost contrast.
_SHIFT, _STRETCH, _BLUR, _GRAIN, _PALE = 0.1, 0.12, 1.0, 0.25, 0.4
_STEPS = range(256)  # of the stored darkness of a line image


def classes_of(characters: str) -> dict[str, int]:
    """Returns each character's class."""
    return {" ": SPACE, **{c: number for number, c in enumerate(characters, FIRST_CLASS)}}


def read_frames(net: nn.Module, images: Tensor, widths: Tensor) -> tuple[Tensor, Tensor]:
    """Returns [N, T, C] float32 log-probabilities and the number of frames of each line.

    images: [N, 1, HEIGHT_PX, W] of any float. widths: [N] pixels, on the host.
    """
    device = images.device
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        shown = images.float().contiguous(memory_format=torch.channels_last)
        logits, frames = net(shown, widths.to(device))
    return logits.float().log_softmax(-1), frames


def spelled(classes: Tensor) -> Tensor:
    """Returns the characters' classes that frames spell."""
    found: Tensor = torch.unique_consecutive(classes)
    return found[found != BLANK]


def ctc_loss(log_probs: Tensor, frames: Tensor, labels: list[Tensor]) -> Tensor:
    """Returns the loss per character; lines without text count as one, those too narrow for their text nothing.

    log_probs: [N, T, C], of which `frames` [N] count.
    """
    lengths = torch.tensor([len(label) for label in labels])
    device = log_probs.device
    if not int(lengths.sum()):  # not every CTC takes a batch without any text
        inside = torch.arange(log_probs.shape[1], device=device)[None] < frames[:, None].to(device)
        return -(log_probs[..., BLANK] * inside).sum() / len(lengths)
    loss = F.ctc_loss(
        log_probs.transpose(0, 1),
        torch.cat(labels).to(device),
        frames,
        lengths.to(device),
        blank=BLANK,
        reduction="none",
        zero_infinity=True,
    )
    return loss.sum() / lengths.clamp(min=1).sum().to(device)


def true_texts(read: Sequence[str], truth: str) -> list[str | None]:
    """Returns the text of each line of a page out of the page's true text; None for lines of which it is unsure.

    read: what was read in each line, in reading order. truth: with its own line breaks. All of it is aligned with all
    that was read by the fewest edits; a line's text then begins and ends at white, within one line, and looks like it.
    """
    if not truth.strip():
        return ["" for _ in read]
    at = [0]  # where in the truth each place between characters of the reading is
    for op in Levenshtein.opcodes("\n".join(read), truth):
        size = op.dest_end - op.dest_start
        at += [op.dest_start + min(n + 1, size) for n in range(op.src_end - op.src_start)]
    found: list[str | None] = []
    start = 0
    for text in read:
        end = start + len(text)
        own = truth[_near_white(truth, at[start]) : _near_white(truth, at[end])]
        # Lines that were not found may stand before or behind.
        own, edits = min(
            ((line.strip(), Levenshtein.distance(line.strip(), text)) for line in own.split("\n")),
            key=itemgetter(1),
        )
        found.append(own if own and text and edits <= _OTHERWISE * max(len(own), len(text)) else None)
        start = end + 1
    lines = [line.strip() for line in truth.split("\n") if line.strip()]
    # Print that can hardly be read: as many lines as the text has are those of the text.
    as_many = len(lines) == len(read) and all(
        own in (None, line) for own, line in zip(found, lines, strict=True)
    )
    return list(lines) if as_many else found


def _near_white(text: str, at: int) -> int:
    """Returns the end of a word that is nearest to a place in a text."""
    ends = (
        n for n in range(len(text) + 1) if n in (0, len(text)) or text[n].isspace() or text[n - 1].isspace()
    )
    return min(ends, key=lambda end: abs(end - at))


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLine:
    """A line to learn. image: [HEIGHT_PX, W] uint8, from its normalised image. label: its classes, int64."""

    image: Tensor
    label: Tensor

    @classmethod
    def of(cls, normalised: Tensor, label: Sequence[int]) -> "LearnedLine":
        """Returns a line by its image as `ocr.line_reader.line_images.normalised` makes it, float in RANGE."""
        low, high = RANGE
        steps = ((normalised - low) / (high - low) * _STEPS[-1]).round().to(torch.uint8)
        return cls(image=steps, label=torch.tensor(label, dtype=torch.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSettings:
    """How a reader is trained further. rate: AdamW's peak. batch: lines a step. wear: of half of the lines, 0 to 1."""

    schedule: Schedule
    rate: float = 2e-4
    batch: int = 16
    wear: float = 0.5
    seed: int = 0


def tune(
    net: ReaderNet, lines: Sequence[LearnedLine], kept_out: Sequence[LearnedLine], settings: TuneSettings
) -> MeanWeights:
    """Trains a network further on lines; returns the mean of its weights.

    kept_out: lines whose loss is told every two minutes. Batch norms keep their running means: a user's pages are few.
    Raises: FloatingPointError as learn does.
    """
    torch.manual_seed(settings.seed)
    rng, device = random.Random(settings.seed), next(net.parameters()).device
    ordered = sorted(lines, key=lambda line: line.image.shape[1])
    mean = MeanWeights(net, every=1, keep=0.98, young=10)

    def losses() -> Losses:
        start = rng.randrange(max(1, len(ordered) - settings.batch + 1))
        net.eval()
        return {"ctc": _loss(net, ordered[start : start + settings.batch], device, settings.wear)}

    @torch.no_grad()
    def check() -> str:
        if not kept_out:
            return "no lines kept out"
        parts = [kept_out[n : n + settings.batch] for n in range(0, len(kept_out), settings.batch)]
        means = [float(_loss(mean.net, part, device, 0.0)) for part in parts]
        return f"loss on lines kept out {sum(means) / len(means):.3f}"

    optimiser = torch.optim.AdamW(net.parameters(), settings.rate, betas=_BETAS, weight_decay=_DECAY)
    learn(optimiser, settings.schedule, mean, losses, check, goes_on=True)
    return mean


def _loss(net: nn.Module, lines: Sequence[LearnedLine], device: torch.device, wear: float) -> Tensor:
    widths = torch.tensor([line.image.shape[1] for line in lines])
    low, high = RANGE
    images = torch.zeros(len(lines), 1, HEIGHT_PX, -(-int(widths.max()) // STEP_PX) * STEP_PX)
    for row, line in enumerate(lines):
        images[row, 0, :, : line.image.shape[1]] = line.image.float() / _STEPS[-1] * (high - low) + low
    images = images.to(device)
    log_probs, frames = read_frames(net, _worn(images, widths, wear) if wear else images, widths)
    return ctc_loss(log_probs, frames, [line.label for line in lines])


def _worn(images: Tensor, widths: Tensor, strength: float) -> Tensor:
    """Returns line images of which half are a little moved, blurred, grainy and pale. images: [N, 1, H, W]."""

    def drawn(most: float) -> Tensor:
        chosen = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
        return strength * most * torch.rand(len(images), 1, 1, 1, device=images.device) * chosen

    theta = torch.eye(2, 3, device=images.device).repeat(len(images), 1, 1)
    theta[:, 1, 1] += (drawn(2 * _STRETCH) - drawn(2 * _STRETCH))[:, 0, 0, 0]
    theta[:, 1, 2] += (drawn(2 * _SHIFT) - drawn(2 * _SHIFT))[:, 0, 0, 0]
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    moved = F.grid_sample(images, grid, padding_mode="border", align_corners=False)
    worn = torch.lerp(moved, F.avg_pool2d(moved, 3, 1, 1), drawn(_BLUR))
    worn = (worn + drawn(_GRAIN) * torch.randn_like(worn)) * (1 - drawn(_PALE))
    inside = torch.arange(images.shape[3], device=images.device) < widths.to(images.device)[:, None]
    return worn.clamp(*RANGE) * inside[:, None, None]
