"""Encode: the views of a batch of pages to vision tokens, one path (global, local) at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from encoders.types import EncodedViews, VisionTokens
from encoders.views import PageViews
from pipeline.results import render_timings
from pipeline.timing import Stopwatch, least_favourable, split
from pipeline.types import RenderedPage, StageTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPage:
    """A rendered page and its tokens. timings: of every stage so far."""

    rendered: RenderedPage
    tokens: VisionTokens
    timings: tuple[StageTiming, ...]


class Encoder(Protocol):
    """The part of pipeline.run_encoder.RunEncoder that encoding needs."""

    def encode_global(self, pages: Sequence[PageViews]) -> tuple[list[EncodedViews], list[list[str]]]: ...
    def encode_local(self, pages: Sequence[PageViews]) -> tuple[list[EncodedViews], list[list[str]]]: ...
    def assemble(
        self,
        pages: Sequence[PageViews],
        global_views: Sequence[EncodedViews],
        local_views: Sequence[EncodedViews],
    ) -> list[VisionTokens]: ...
    def synchronize(self) -> None: ...


@torch.inference_mode()
def encode(encoder: Encoder, pages: Sequence[RenderedPage]) -> list[EncodedPage]:
    """Returns one encoded page for each page, in order.

    The wall time of a path is shared by the views that a page has on it. A page's tiles may have been replayed
    or not; its timing says the least favourable of them.
    """
    views = [page.views for page in pages]
    global_watch, local_watch = Stopwatch(), Stopwatch()
    with global_watch.measure():
        global_views, global_uses = encoder.encode_global(views)
        encoder.synchronize()
    with local_watch.measure():
        local_views, local_uses = encoder.encode_local(views)
        tokens = encoder.assemble(views, global_views, local_views)
        encoder.synchronize()
    global_shares = _shares("encode_global", global_watch, global_uses)
    local_shares = _shares("encode_local", local_watch, local_uses)
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


def _shares(stage: str, watch: Stopwatch, uses: Sequence[Sequence[str]]) -> list[StageTiming]:
    """uses: of each page's views on the path."""
    return split(
        stage, watch.seconds, [len(page) for page in uses], [least_favourable(page) for page in uses]
    )
