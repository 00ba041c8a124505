"""A page and what is read on it, for these tests."""

from dataclasses import replace

import numpy as np

from encoders.views import PageViews
from ocr.types import Block, ParsedText
from pipeline.outcome.results import failed_result
from pipeline.types import Page, PageResult, PageStatus, RenderedPage
from storage.types import PageError, StageTiming

PAGE = Page(path="a.pdf", sha256="0" * 64, kind="pdf", page_index=2)


def rendered(side: int = 100) -> RenderedPage:
    views = PageViews(
        global_view=np.zeros((3, 8, 8), np.uint8),
        local_views=np.zeros((0, 3, 640, 640), np.uint8),
        grid=(1, 1),
    )
    return RenderedPage(
        page=PAGE, views=views, width_px=side, height_px=side, dpi=200.0, blank=False, seconds={}
    )


def read(
    text: str, status: PageStatus = "ok", confidence: float | None = 0.9, **changes: object
) -> PageResult:
    block = Block(label="text", text=text, box_px=(10, 20, 60, 40), confidence=confidence, raw_span=(0, 4))
    parsed = ParsedText(text=text, markdown=f"**{text}**" if text else "", blocks=(block,) if text else ())
    timing = StageTiming(stage="encode_global", share_s=1.0, wall_s=4.0, batch_size=2, path_use="eager")
    result = PageResult(
        page=PAGE,
        status=status,
        parsed=parsed,
        error=None,
        confidence=confidence,
        num_tokens=7,
        width_px=100,
        height_px=100,
        dpi=200.0,
        timings=(timing,),
    )
    return replace(result, **changes)  # type: ignore[arg-type]


def broken() -> PageResult:
    return failed_result(PAGE, PageError(stage="decode", category="internal", message="it broke"))
