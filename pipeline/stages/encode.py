"""Stages prepare and encode: have a page's views processed, and turn those of a batch of pages into vision tokens.

A family's own processor prepares a page by itself and without the device; a batch goes through the encoder one path at
a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageOutputs
from pipeline.outcome.results import render_timings
from pipeline.timing import Stopwatch, least_favourable, split
from pipeline.types import RenderedPage
from storage.types import StageTiming


class Encoder(Protocol):
    """The interface of pipeline.device.run_encoder.PathsEncoder that this stage needs."""

    @property
    def path_names(self) -> tuple[str, ...]: ...
    def prepared(self, page: PageViews) -> PageViews: ...
    def encode_path(
        self, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, Sequence[Sequence[str]]]: ...
    def assemble(
        self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]
    ) -> list[VisionTokens]: ...
    def synchronize(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedBatch:
    """The vision tokens of a batch of pages. seconds: of each path. uses: by path, each page's units' graph uses."""

    tokens: list[VisionTokens]
    seconds: Mapping[str, float]
    uses: Mapping[str, Sequence[Sequence[str]]]


def prepare(encoder: Encoder, page: RenderedPage) -> RenderedPage:
    """Returns a page with the views that the encoder takes, and the time that making them took."""
    watch = Stopwatch()
    with watch.measure():
        views = encoder.prepared(page.views)
    return replace(page, views=views, seconds={**page.seconds, "prepare": watch.seconds})


@torch.inference_mode()
def encode_views(encoder: Encoder, views: Sequence[PageViews]) -> EncodedBatch:
    """Returns the pages' tokens, in order. Runs call it for their pages' views, and the benchmark times it.

    It waits for the device after each path, so that each has a time of its own; the last one's includes putting the
    tokens together.
    """
    watches = {path: Stopwatch() for path in encoder.path_names}
    outputs: dict[str, PageOutputs] = {}
    uses: dict[str, Sequence[Sequence[str]]] = {}
    tokens: list[VisionTokens] = []
    for path, watch in watches.items():
        with watch.measure():
            outputs[path], uses[path] = encoder.encode_path(path, views)
            if len(outputs) == len(watches):
                tokens = encoder.assemble(views, outputs)
            encoder.synchronize()
    seconds = {path: watch.seconds for path, watch in watches.items()}
    return EncodedBatch(tokens=tokens, seconds=seconds, uses=uses)


def encode(
    encoder: Encoder, pages: Sequence[RenderedPage]
) -> list[tuple[VisionTokens, tuple[StageTiming, ...]]]:
    """Returns each page's vision tokens, and the timings of its stages so far.

    Pages share the wall time of a path by the number of views they have on it. Some of a page's tiles may have been
    replayed and others not; its timing states the least favourable of them.
    """
    batch = encode_views(encoder, [page.views for page in pages])
    shares = []
    for path, seconds in batch.seconds.items():
        uses = batch.uses[path]  # of each page's views
        shares.append(split(f"encode_{path}", seconds, [*map(len, uses)], [*map(least_favourable, uses)]))
    return [
        (tokens, (*render_timings(page.seconds), *own))
        for page, tokens, *own in zip(pages, batch.tokens, *shares, strict=True)
    ]
