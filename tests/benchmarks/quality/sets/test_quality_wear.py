"""Degraded pages are reproducible, of the same size, and degraded in the way their kind says."""

from collections import Counter

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.benchmarks.quality.sets.wear import KINDS, degrade, kinds_of


@pytest.fixture(scope="module")
def page() -> Image.Image:
    image = Image.new("L", (300, 400), 255)
    draw = ImageDraw.Draw(image)
    for y in range(20, 380, 16):
        draw.text((20, y), "reading quality of a page", fill=0)
    return image


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_changes_the_page_and_always_in_the_same_way(kind: str, page: Image.Image) -> None:
    back = page.rotate(180)
    worn = degrade(page, back, (kind,), "name")
    assert worn.size == page.size
    assert worn.mode == "L"
    assert worn.tobytes() != page.tobytes()
    assert worn.tobytes() == degrade(page, back, (kind,), "name").tobytes()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "jpeg"])
def test_another_name_is_worn_otherwise(kind: str, page: Image.Image) -> None:
    back = page.rotate(180)
    assert degrade(page, back, (kind,), "one").tobytes() != degrade(page, back, (kind,), "two").tobytes()


def test_colour_stays() -> None:
    page = Image.new("RGB", (64, 64), (200, 40, 40))
    worn = degrade(page, page, ("jpeg",), "name")
    red, green, _ = np.asarray(worn).reshape(-1, 3).mean(axis=0)
    assert red > green + 100


def test_fax_is_one_bit_and_keeps_blank_paper_white(page: Image.Image) -> None:
    assert set(np.unique(np.asarray(degrade(page, page, ("fax",), "name")))) == {0, 255}
    blank = Image.new("L", (300, 400), 230)
    assert np.asarray(degrade(blank, blank, ("fax",), "name")).mean() > 250


def test_bleed_through_is_mirrored() -> None:
    page, back = Image.new("L", (200, 200), 255), Image.new("L", (200, 200), 255)
    ImageDraw.Draw(back).rectangle((0, 0, 60, 199), fill=0)
    worn = np.asarray(degrade(page, back, ("bleed-through",), "name"))
    assert worn[:, 150:].mean() < 240 < worn[:, :100].mean()


def test_kinds_take_turns() -> None:
    chosen = [kinds_of(index, f"page-{index}") for index in range(80)]
    counts = Counter(kind for kinds in chosen for kind in kinds)
    assert all(1 <= len(kinds) <= 2 for kinds in chosen)
    assert all(counts[kind] >= 10 for kind in KINDS)
