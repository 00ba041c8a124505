import math

import numpy as np
import pytest

from ocr.families.minicpm.versions import Version
from ocr.families.minicpm.video_slicing import RULES, FrameRule


def plain_spread(items: list[int], wanted: int) -> list[int]:
    gap = len(items) / wanted
    return [items[int(place * gap + gap / 2)] for place in range(wanted)]


def plain_frames_2_6(num: int, fps: float) -> list[int]:
    chosen = list(range(0, num, round(fps / 1)))
    return plain_spread(chosen, 64) if len(chosen) > 64 else chosen


def plain_frames_4_5(
    num: int, fps: float, most: int = 180, packing: int = 3
) -> tuple[list[int], list[list[int]]]:
    """The published example, three frames a second; its nearest neighbours by looking at all."""
    duration = num / fps
    if 3 * int(duration) <= most:
        packed, wanted = 1, round(min(3, round(fps)) * min(most, duration))
    else:
        packed = math.ceil(duration * 3 / most)
        if packed <= packing:
            wanted = round(duration * 3)
        else:
            packed, wanted = packing, round(most * packing)
    indices = plain_spread(list(range(num)), wanted)
    scale = np.arange(0, duration, 0.1)
    nearest = [min(range(len(scale)), key=lambda i: abs(scale[i] - index / fps)) for index in indices]
    ids = [int(scale[i] / 0.1) for i in nearest]
    return indices, [ids[start : start + packed] for start in range(0, len(ids), packed)]


VIDEOS = [
    (300, 30.0),
    (301, 29.97),
    (2400, 24.0),
    (1, 25.0),
    (90, 12.5),
    (3600, 30.0),
    (5000, 25.0),
    (9000, 25.0),
]


@pytest.mark.parametrize("video", VIDEOS)
def test_frames_equal_the_published_examples(video: tuple[int, float]) -> None:
    versions: tuple[Version, ...] = ("2.6", "4.0")
    for version in versions:
        plan = RULES[version].plan(*video)
        assert (list(plan.indices), plan.groups) == (plain_frames_2_6(*video), ())
    plan = RULES["4.5"].plan(*video)
    if video[0] == 1:
        assert (plan.indices, plan.groups) == ((0,), ((0,),)), "where the example has no frame"
        return
    indices, groups = plain_frames_4_5(*video)
    assert list(plan.indices) == indices
    assert [list(group) for group in plan.groups] == groups


def test_long_videos_are_packed() -> None:
    rule = FrameRule(most=180, fps=3, packed=6)
    plans = {minutes: rule.plan(minutes * 60 * 25, 25.0) for minutes in (1, 2, 5, 60)}
    assert {minutes: max(map(len, plan.groups)) for minutes, plan in plans.items()} == {
        1: 1,
        2: 2,
        5: 5,
        60: 6,
    }
    assert all(len(plan.groups) <= 180 for plan in plans.values())
    assert plans[60].groups[-1][-1] > 35900, "the ids count tenths of a second"


def test_no_video_is_empty() -> None:
    with pytest.raises(ValueError, match="none to show"):
        FrameRule(most=64, fps=1).plan(0, 25.0)
