import json
from pathlib import Path

import numpy as np
import pytest

from encoders.video_timing import FrameViews
from encoders.views import UInt8Array
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.video_slicing import video_slicing
from ocr.families.registry import family_of
from tests.ocr.families.minicpm.tiny_minicpm import config_json


def frames(count: int) -> UInt8Array:
    return np.random.default_rng(count).integers(0, 256, (count, 33, 47, 3), dtype=np.uint8)


@pytest.mark.parametrize("version", ["2.6", "4.0"])
def test_every_frame_is_shown_up_to_the_most(version: str) -> None:
    make, rule = video_slicing(config_json(version)), SlicingRule.from_json(config_json(version))
    assert make is not None
    few = frames(7)
    found = make(few)
    assert isinstance(found, FrameViews)
    assert found.groups == ()
    assert np.array_equal(found.local_views, rule.frames(few).local_views)
    assert len(make(frames(100)).local_views) == 64


def test_frames_of_4_5_have_times_and_may_be_packed() -> None:
    """Three frames a second: a third of a second apart, in tenths, the nearest."""
    alone, packed = video_slicing(config_json("4.5")), video_slicing(config_json("4.5"), packed=3)
    assert alone is not None
    assert packed is not None
    found, grouped = alone(frames(8)), packed(frames(8))
    assert isinstance(found, FrameViews)
    assert isinstance(grouped, FrameViews)
    assert found.groups == tuple((time,) for time in (0, 3, 7, 10, 13, 17, 20, 23))
    assert grouped.groups == ((0, 3, 7), (10, 13, 17), (20, 23))
    assert np.array_equal(found.local_views, grouped.local_views)


def test_2_5_takes_no_videos() -> None:
    assert video_slicing(config_json("2.5")) is None


def test_the_family_says_what_makes_videos(tmp_path: Path) -> None:

    (tmp_path / "config.json").write_text(json.dumps(config_json("4.5")))
    assert family_of(tmp_path).video_maker(tmp_path) == video_slicing(config_json("4.5"))
