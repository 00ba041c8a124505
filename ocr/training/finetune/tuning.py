"""Trains a model that reads a little further on given pages: the text's cross-entropy, one page at a time.

A user's pages have no glyph boxes, so nothing but the text teaches the model. Views, prompt and language model are
production's own code, so training sees what reading will see.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, isfinite

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

from encoders.views import UInt8Array
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.imaging.tiling import Grid, layout, views
from ocr.model.prompt import encode_prompt, splice
from ocr.training.augment.degrade import degrade
from ocr.training.finetune.pairs import MAX_TILES, MODE, PageImage

Tensor = torch.Tensor


class TuningError(RuntimeError):
    """Training went wrong; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInput:
    """A page for training. tiles: [N, 3, 640, 640] uint8, N may be 0; global_view: [1, 3, S, S] uint8.

    ids: text, no EOS.
    """

    tiles: Tensor
    global_view: Tensor
    grid: Grid
    prompt: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLoss:
    """The losses of a page. text: mean nats a token; accuracy: of tokens, 0..1."""

    text: Tensor
    accuracy: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSettings:
    """Settings of a training run. minutes: its length, unless epochs is given. batch: pages a step. rate: AdamW's peak.

    warm_up: share of the run in which the rate rises; after it the rate falls linearly to 0. corrupt: share of the
    text's tokens replaced by wrong ones, so that the model keeps looking at the page. clip: of the gradient's norm.
    """

    minutes: float = 30.0
    epochs: int | None = None
    batch: int = 4
    rate: float = 1e-4
    warm_up: float = 0.05
    corrupt: float = 0.03
    clip: float = 1.0
    freeze_encoder: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A training step. share: of the run that is over, 0..1. loss: mean nats a token. accuracy: of tokens."""

    number: int
    num_pages: int
    share: float
    loss: float
    accuracy: float


def page_input(image: PageImage, prompt: str, ids: Sequence[int]) -> PageInput:
    """Returns a page as training input, cut as production cuts it."""
    cut = views(image.pixels, MODE, MAX_TILES, image.grid)
    return PageInput(
        tiles=torch.from_numpy(cut.local_views),
        global_view=torch.from_numpy(cut.global_view)[None],
        grid=cut.grid,
        prompt=prompt,
        ids=tuple(ids),
    )


def degraded(image: PageImage, strength: float) -> PageImage:
    """Returns the page in grey, worn as by paper and scanner, with no more pixels than its tiles hold."""
    height, width, _ = image.pixels.shape
    factor = min(1.0, layout(width, height, MODE, MAX_TILES).scale(width, height))
    # JPEG blocks are 8 pixels wide.
    size = (max(8, round(width * factor) // 8 * 8), max(8, round(height * factor) // 8 * 8))
    grey = Image.fromarray(image.pixels).convert("L").resize(size, Image.Resampling.BICUBIC)
    worn = degrade(torch.from_numpy(np.array(grey))[None, None], strength)
    pixels: UInt8Array = worn[0].permute(1, 2, 0).contiguous().numpy()
    return PageImage(pixels=pixels, grid=image.grid)


def page_loss(loaded: LoadedModel, page: PageInput, corrupt: float = 0.0) -> PageLoss:
    """Returns the text's loss on a page."""
    encoder, device = loaded.model.encoder, loaded.model.device
    whole = encoder.encode_views(page.global_view.to(device))
    tiles_px = page.tiles.to(device)
    local = encoder.encode_views(tiles_px) if len(tiles_px) else whole.new_empty(0, 0, 0)
    text, accuracy = _text_loss(loaded, encoder.assemble(whole[0], local, page.grid), page, corrupt)
    return PageLoss(text=text, accuracy=accuracy)


def _text_loss(
    loaded: LoadedModel, vision_TD: Tensor, page: PageInput, corrupt: float
) -> tuple[Tensor, Tensor]:
    """Returns the mean cross-entropy of the text's tokens and the end, and the share of them that is right."""
    model = loaded.model
    prompt = encode_prompt(loaded.tokenizer, page.prompt, bos_id=loaded.bos_id)
    (start_LD,) = splice(model.language_model.embed_tokens, prompt, [vision_TD])
    label = torch.tensor([*page.ids, loaded.eos_id], device=model.device)
    shown = label[:-1]
    wrong = torch.rand(shown.shape, device=model.device) < corrupt
    shown = torch.where(wrong, torch.randint_like(shown, model.config.language.vocab_size), shown)
    hidden = model.language_model(
        inputs_embeds=torch.cat([start_LD, model.embed(shown[None])[0]])[None],
        attention_mask={"full_attention": None},  # causal
        use_cache=False,
    ).last_hidden_state
    logits = model.lm_head(hidden[0, len(start_LD) - 1 :]).float()
    return F.cross_entropy(logits, label), (logits.detach().argmax(-1) == label).float().mean()


def rate_factor(share: float, warm_up: float) -> float:
    """Returns the factor of the rate: it rises over `warm_up` of the run, then falls linearly to 0."""
    rise = min(1.0, (share + 0.01) / (warm_up + 0.01))
    return rise * min(1.0, (1 - share) / (1 - warm_up))


def tune(
    loaded: LoadedModel,
    num_pages: int,
    draw: Callable[[int], PageInput],
    settings: TuneSettings,
    replay: Iterator[PageInput] | None = None,
) -> Iterator[Step]:
    """Trains the model in place, yielding after every step; at the end it is ready to read again.

    num_pages: number of pages; draw: makes page i. replay: other pages, as many again in every step, so that the model
    does not forget them. Raises: TuningError.
    """
    model, encoder = loaded.model, loaded.model.encoder
    model.requires_grad_(True).train()
    encoder.requires_grad_(not settings.freeze_encoder)
    weights = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, settings.rate, betas=(0.9, 0.98), weight_decay=0.01)
    torch.manual_seed(settings.seed)
    started, done, total = time.monotonic(), 0, ceil(num_pages / settings.batch) * (settings.epochs or 0)
    try:
        for chosen in _batches(num_pages, settings.batch, settings.seed):
            share = done / total if total else (time.monotonic() - started) / 60 / settings.minutes
            if share >= 1:
                return
            pages = chain.from_iterable((draw(i), *([next(replay)] if replay else [])) for i in chosen)
            count = len(chosen) * (2 if replay else 1)
            loss, accuracy = _accumulate(loaded, pages, count, settings)
            if not isfinite(loss):
                raise TuningError("the loss is not a number any more; lower --rate and start again")
            torch.nn.utils.clip_grad_norm_(weights, settings.clip)
            for group in optimiser.param_groups:
                group["lr"] = settings.rate * rate_factor(share, settings.warm_up)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            done += 1
            yield Step(number=done, num_pages=count, share=share, loss=loss, accuracy=accuracy)
    finally:
        model.requires_grad_(False).eval()


def _accumulate(
    loaded: LoadedModel,
    pages: Iterator[PageInput],
    count: int,
    settings: TuneSettings,
) -> tuple[float, float]:
    """Sums the gradients of a step's pages, one page in memory at a time; returns mean text loss and accuracy."""
    device, text, right = loaded.model.device, 0.0, 0.0
    for page in pages:
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = page_loss(loaded, page, settings.corrupt)
        torch.autograd.backward(loss.text / count)
        text, right = text + loss.text.item() / count, right + loss.accuracy.item() / count
    return text, right


def _batches(num_pages: int, size: int, seed: int) -> Iterator[list[int]]:
    """Yields batches without end: every page once, in a new order, then again."""
    rng, order = random.Random(seed), list(range(num_pages))
    while True:
        rng.shuffle(order)
        yield from [order[start : start + size] for start in range(0, num_pages, size)]
