"""Encode: the views of a batch of pages to vision tokens, one path (global, local) at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from encoders.deepseek import DeepEncoder
from encoders.types import VisionTokens
from pipeline.results import render_timings
from pipeline.timing import Stopwatch, split
from pipeline.types import RenderedPage, StageTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPage:
    """A rendered page and its tokens. timings: of every stage so far."""

    rendered: RenderedPage
    tokens: VisionTokens
    timings: tuple[StageTiming, ...]


@torch.inference_mode()
def encode(encoder: DeepEncoder, pages: Sequence[RenderedPage]) -> list[EncodedPage]:
    """Returns one encoded page for each page, in order.

    The wall time of a path is shared by the views that a page has on it.
    """
    views = [page.views for page in pages]
    global_watch, local_watch = Stopwatch(), Stopwatch()
    with global_watch.measure():
        global_views = encoder.encode_global(views)
        _finish(encoder)
    with local_watch.measure():
        local_views = encoder.encode_local(views)
        tokens = encoder.assemble_pages(views, global_views, local_views)
        _finish(encoder)
    global_shares = split("encode_global", global_watch.seconds, [1] * len(pages), "eager")
    tiles = [view.num_tiles for view in views]
    local_shares = split("encode_local", local_watch.seconds, tiles, "eager")
    return [
        EncodedPage(
            rendered=page,
            tokens=page_tokens,
            timings=(*render_timings(page), global_share, local_share),
        )
        for page, page_tokens, global_share, local_share in zip(
            pages, tokens, global_shares, local_shares, strict=True
        )
    ]


def _finish(encoder: DeepEncoder) -> None:
    """Waits for the device, so that a time is the work's and not its launch's."""
    device = encoder.image_newline.device
    if device.type == "cuda":
        torch.cuda.synchronize(device)
