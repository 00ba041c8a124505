"""Crops' results as one page's, and where blocks lie on it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from encoders.views import PageViews
from ocr.types import Block, ParsedText, Word
from pipeline.outcome.results import failed_result
from pipeline.rereading.joining import join, readings, summed
from pipeline.types import DividedPage, Page, PageCrop, PageResult, PageStatus, RenderedPage
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


def divided(
    *origins: tuple[int, int],
    breaks: tuple[bool, ...] = (),
    within: tuple[int, ...] = (),
    angle_deg: float = 0.0,
) -> DividedPage:
    crops = tuple(
        PageCrop(
            rendered=rendered(),
            origin_px=origin,
            paragraph_break=(breaks or (True,) * len(origins))[index],
            within=within[index] if within else None,
        )
        for index, origin in enumerate(origins)
    )
    return DividedPage(
        page=PAGE,
        crops=crops,
        width_px=1000,
        height_px=2000,
        dpi=200.0,
        angle_deg=angle_deg,
        seconds={"render": 0.5, "tile": 0.25},
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


def test_a_page_that_is_read_whole_keeps_its_result() -> None:
    page, result = rendered(), read("whole")
    assert list(readings(page)) == [page]
    assert join(page, [result]) is result


def test_texts_are_joined_in_order_with_and_without_a_paragraphs_end() -> None:
    page = divided((0, 0), (0, 100), (0, 200), breaks=(True, False, True))
    result = join(page, [read("one"), read("two"), read("three")])
    assert result.parsed is not None
    assert result.parsed.text == "one\ntwo\n\nthree"
    assert result.parsed.markdown == "**one**\n**two**\n\n**three**"
    assert [block.text for block in result.parsed.blocks] == ["one", "two", "three"]
    assert (result.status, result.num_tokens) == ("ok", 21)
    assert (result.width_px, result.height_px, result.dpi) == (1000, 2000, 200.0)


def test_words_are_the_pages_with_those_of_crops_that_know_no_places() -> None:
    page = divided((0, 0), (900, 1000))
    placed, plain = read("one two"), read("three")
    assert placed.parsed is not None
    words = (Word(text="one", box_px=(10, 20, 30, 40), confidence=0.5), Word(text="two"))
    placed = replace(placed, parsed=replace(placed.parsed, words=words))
    joined = join(page, [plain, placed])
    assert joined.parsed is not None
    assert joined.parsed.words == (
        Word(text="three"), Word(text="one", box_px=(910, 1020, 930, 1040), confidence=0.5), Word(text="two"),
    )  # fmt: skip


def test_boxes_are_the_pages_and_end_at_its_edges() -> None:
    result = join(divided((300, 700), (-30, 1970)), [read("one"), read("two")])
    assert result.parsed is not None
    first, second = result.parsed.blocks
    assert first.box_px == (310, 720, 360, 740)
    assert second.box_px == (0, 1990, 30, 2000)
    assert first.raw_span is None
    outside = join(divided((-200, 0), (0, 0)), [read("one"), read("two")])
    assert outside.parsed is not None
    assert outside.parsed.blocks[0].box_px is None


def test_boxes_of_a_turned_page_are_turned_back() -> None:
    result = join(divided((400, 100), (0, 0), angle_deg=2.0), [read("one"), read("two")])
    assert result.parsed is not None
    box = result.parsed.blocks[0].box_px
    assert box is not None
    # The page's content stood lower by this much at 500 px right of its middle, before it was turned level.
    angle = math.radians(2)
    x, y = 410 + 25 - 500, 120 + 10 - 1000
    middle = (
        500 + x * math.cos(angle) - y * math.sin(angle),
        1000 + x * math.sin(angle) + y * math.cos(angle),
    )
    assert ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2) == pytest.approx(middle, abs=1)
    assert 50 <= box[2] - box[0] <= 54
    assert 20 <= box[3] - box[1] <= 24


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (("ok", "blank"), "ok"),
        (("blank", "blank"), "blank"),
        (("ok", "repeated"), "repeated"),
        (("repeated", "truncated"), "truncated"),
    ],
)
def test_the_worst_crop_decides_the_status(
    statuses: tuple[PageStatus, PageStatus], status: PageStatus
) -> None:
    page = divided((0, 0), (0, 100))
    results = [read("" if name == "blank" else "text", name) for name in statuses]
    assert join(page, results).status == status


def test_one_bad_crop_does_not_lose_the_others() -> None:
    result = join(divided((0, 0), (0, 100), (0, 200)), [read("one"), broken(), read("three")])
    assert result.status == "truncated"
    assert result.parsed is not None
    assert result.parsed.text == "one\n\nthree"
    assert [block.box_px for block in result.parsed.blocks] == [(10, 20, 60, 40), (10, 220, 60, 240)]


def test_a_page_of_which_no_crop_was_read_has_failed() -> None:
    result = join(divided((0, 0), (0, 100)), [broken(), broken()])
    assert (result.status, result.parsed) == ("failed", None)
    assert result.error is not None
    assert result.error.message == "it broke"


def test_confidence_is_the_characters() -> None:
    page = divided((0, 0), (0, 100), (0, 200))
    long, short, blank = (
        read("x" * 90, confidence=1.0),
        read("y" * 10, confidence=0.5),
        read("", "blank", None),
    )
    assert join(page, [long, short, blank]).confidence == pytest.approx(0.95)
    assert join(page, [blank, blank, blank]).confidence is None


def test_times_are_added_up_and_batches_counted_once() -> None:
    result = join(divided((0, 0), (0, 100)), [read("one"), read("two")])
    assert result.timings == (
        StageTiming(stage="render", share_s=0.5, wall_s=0.5),
        StageTiming(stage="tile", share_s=0.25, wall_s=0.25),
        StageTiming(stage="encode_global", share_s=2.0, wall_s=4.0, batch_size=2, path_use="eager"),
    )


def test_images_count_on_over_the_page() -> None:
    image = Block(label="image", text="")
    parsed = ParsedText(text="", markdown="![](images/3_0.jpg)", blocks=(image,))
    result = join(divided((0, 0), (0, 100)), [read("", parsed=parsed), read("", parsed=parsed)])
    assert result.parsed is not None
    assert result.parsed.markdown == "![](images/3_0.jpg)\n\n![](images/3_1.jpg)"


def test_crops_that_were_replayed_and_not_count_as_not() -> None:
    replayed = StageTiming(stage="encode_local", share_s=1.0, wall_s=2.0, path_use="hit")
    results = [read(str(use), timings=(replace(replayed, path_use=use),)) for use in ("hit", None, "miss")]
    assert [timing.path_use for timing in summed(results)] == ["miss"]
