"""Stage encode: turns the views of a batch of pages into vision tokens, one path (global, local) at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from encoders.types import EncodedViews, VisionTokens
from encoders.views import PageViews
from pipeline.outcome.results import render_timings
from pipeline.timing import Stopwatch, least_favourable, split
from pipeline.types import RenderedPage
from storage.types import StageTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPage:
    """A rendered page and its vision tokens. timings: of every stage so far."""

    rendered: RenderedPage
    tokens: VisionTokens
    timings: tuple[StageTiming, ...]


class Encoder(Protocol):
    """The interface of pipeline.device.run_encoder.RunEncoder that this stage needs."""

    def encode_global(self, pages: Sequence[PageViews]) -> tuple[list[EncodedViews], list[list[str]]]: ...

    def encode_local(self, pages: Sequence[PageViews]) -> tuple[list[EncodedViews], list[list[str]]]: ...
    def assemble(
        self,
        pages: Sequence[PageViews],
        global_views: Sequence[EncodedViews],
        local_views: Sequence[EncodedViews],
    ) -> list[VisionTokens]: ...
    def synchronize(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedBatch:
    """The vision tokens of a batch of pages. *_s: seconds of each path. *_uses: each page's views' path uses."""

    tokens: list[VisionTokens]
    global_s: float
    local_s: float
    global_uses: list[list[str]]
    local_uses: list[list[str]]


@torch.inference_mode()
def encode_views(encoder: Encoder, views: Sequence[PageViews]) -> EncodedBatch:
    """Returns the pages' tokens, in order. Runs call it for their pages' views, and the benchmark times it.

    It waits for the device after each path, so that each has a time of its own.
    """
    global_watch, local_watch = Stopwatch(), Stopwatch()
    with global_watch.measure():
        global_views, global_uses = encoder.encode_global(views)
        encoder.synchronize()
    with local_watch.measure():
        local_views, local_uses = encoder.encode_local(views)
        tokens = encoder.assemble(views, global_views, local_views)
        encoder.synchronize()
    return EncodedBatch(
        tokens=tokens,
        global_s=global_watch.seconds,
        local_s=local_watch.seconds,
        global_uses=global_uses,
        local_uses=local_uses,
    )


def encode(encoder: Encoder, pages: Sequence[RenderedPage]) -> list[EncodedPage]:
    """Returns one encoded page for each page, in order.

    Pages share the wall time of a path by the number of views they have on it. Some of a page's tiles may have been
    replayed and others not; its timing states the least favourable of them.
    """
    batch = encode_views(encoder, [page.views for page in pages])
    global_shares = _shares("encode_global", batch.global_s, batch.global_uses)
    local_shares = _shares("encode_local", batch.local_s, batch.local_uses)
    return [
        EncodedPage(
            rendered=page,
            tokens=page_tokens,
            timings=(*render_timings(page), global_share, local_share),
        )
        for page, page_tokens, global_share, local_share in zip(
            pages, batch.tokens, global_shares, local_shares, strict=True
        )
    ]


def _shares(stage: str, seconds: float, uses: Sequence[Sequence[str]]) -> list[StageTiming]:
    """Returns each page's timing on a path. uses: of each page's views on it."""
    return split(stage, seconds, [len(page) for page in uses], [least_favourable(page) for page in uses])
