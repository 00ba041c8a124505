import io
import json
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ocr.training.pictures.drawings import DRAWINGS, drawing
from ocr.training.pictures.empty_sheets import PRINTED, WEAR, blank
from ocr.training.pictures.source import Pictures
from ocr.training.pictures.textures import TEXTURES, grain, halftone


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    Image.new("RGB", (256, 200), (200, 0, 200)).save(tmp_path / "0.jpg")
    (tmp_path / "index.json").write_text(json.dumps([{"file": "0.jpg"}]))
    return tmp_path


def test_pictures_have_the_size_asked_for_and_something_on_them(tmp_path: Path) -> None:
    pictures, rng = Pictures(tmp_path), random.Random(1)
    formats, plain = set(), 0
    for _ in range(60):
        width, height = rng.randint(24, 500), rng.randint(24, 500)
        with Image.open(io.BytesIO(pictures.png(rng, width, height))) as image:
            assert image.size == (width, height)
            formats.add(image.format)
            assert image.mode == "L"
            plain += int(np.ptp(np.asarray(image)) < 10)
    assert formats == {"PNG", "JPEG"}
    assert plain < 6


def test_pages_are_grey_writable_and_varied(tmp_path: Path) -> None:
    pictures, rng = Pictures(tmp_path), random.Random(2)
    light = []
    for _ in range(40):
        width, height = rng.choice([(64, 96), (320, 480), (640, 320)])
        page = pictures.page(rng, width, height)
        assert page.shape == (height, width)
        assert page.dtype == np.uint8
        assert page.flags.writeable
        assert page.flags.c_contiguous
        light.append((page > 180).mean())
    assert sum(share > 0.8 for share in light) > 10
    assert sum(share < 0.5 for share in light) > 3


def test_the_same_seed_draws_the_same(corpus: Path) -> None:
    pictures = Pictures(corpus)
    for seed in range(12):
        first, second = (pictures.page(random.Random(seed), 160, 240) for _ in range(2))
        assert np.array_equal(first, second)
        assert pictures.png(random.Random(seed), 90, 60) == pictures.png(random.Random(seed), 90, 60)


def test_photographs_are_among_them(corpus: Path, tmp_path: Path) -> None:
    assert [path.name for path in Pictures(corpus).files] == ["0.jpg"]
    assert Pictures(tmp_path / "none").files == []
    plain = 0
    for seed in range(40):
        data = Pictures(corpus).png(random.Random(seed), 60, 40)
        with Image.open(io.BytesIO(data)) as image:
            plain += int(np.asarray(image).std() < 8)
    assert plain > 4


@pytest.mark.parametrize("make", sorted(set(DRAWINGS), key=lambda make: make.__name__))
def test_every_drawing_leaves_ink_and_ground(make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ocr.training.pictures.drawings.DRAWINGS", (make,))
    inked = 0
    for seed in range(8):
        size = (200 + 20 * seed, 120 + 30 * seed)
        image = drawing(random.Random(seed), *size, fine=1 + seed % 2)
        assert image.size == size
        values = np.asarray(image)
        inked += int(np.ptp(values) > 30)
    assert inked >= 7
    drawing(random.Random(1), 12, 9)


@pytest.mark.parametrize("make", sorted(set(TEXTURES), key=lambda make: make.__name__))
def test_textures_fill_their_size(make: object) -> None:
    assert callable(make)
    for seed, size in enumerate([(31, 77), (300, 200), (5, 5)]):
        found = make(random.Random(seed), *size)
        assert found.shape == size[::-1]
        assert found.dtype == np.uint8
        assert np.ptp(found) > 0


def test_halftone_keeps_the_shade() -> None:
    rng = random.Random(3)
    for shade in (60, 128, 200):
        dots = halftone(rng, np.full((120, 120), shade, np.uint8))
        assert len(np.unique(dots)) == 2
        white = (dots == 255).mean()
        assert white == pytest.approx(shade / 255, abs=0.12)


def test_grain_has_the_deviation_asked_for() -> None:
    noisy = grain(random.Random(4), np.full((200, 300), 128, np.uint8), 9)
    assert noisy.std() == pytest.approx(9, rel=0.1)
    assert noisy.mean() == pytest.approx(128, abs=1)


@pytest.mark.parametrize("wear", sorted({*WEAR, *PRINTED}, key=lambda wear: wear.__name__))
def test_wear_and_print_mark_blank_paper_but_leave_most_of_it(wear: object) -> None:
    assert callable(wear)
    for seed in range(6):
        image = Image.new("L", (320, 480), 255)
        wear(random.Random(seed), image)
        marked = np.asarray(image) < 250
        assert marked.any()
        assert marked.mean() < 0.75


def test_blank_paper_is_light() -> None:
    for seed in range(20):
        assert blank(random.Random(seed), 100, 150).mean() > 120
