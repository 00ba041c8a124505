from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ocr.training.corpus.packages import EXCLUDED, EXCLUDED_FAMILIES, Package
from ocr.training.corpus.photographs import (
    MAX_BYTES,
    PictureSource,
    build_pictures,
    load_sources,
    on_white,
    varied,
)

ROOT = Path(__file__).parents[4]
TABLE = ROOT / "ocr/training/corpus/pictures.yaml"


def photograph(seed: int, width: int = 400, height: int = 300) -> Image.Image:
    small = np.random.default_rng(seed).integers(0, 255, (6, 8, 3)).astype(np.uint8)
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)


@pytest.fixture
def package(tmp_path: Path) -> Package:
    root = tmp_path / "pkg"
    (root / "pictures").mkdir(parents=True)
    for number in range(4):
        photograph(number).save(root / "pictures" / f"photo{number}.png")
    photograph(0).save(root / "pictures" / "photo0-copy.png")
    photograph(9, 100, 90).save(root / "pictures" / "photo-small.png")
    Image.new("RGB", (300, 300), (9, 9, 9)).save(root / "pictures" / "photo-plain.png")
    (root / "pictures/photo-link.png").symlink_to(root / "pictures/photo1.png")
    return Package(name="p", version="1", licence="CC0", root=root)


SOURCE = PictureSource(package="p", files=("**/photo*.png",), most=99)


def test_the_table_loads_and_keeps_off_the_evaluation_packages() -> None:
    sources = load_sources(TABLE)
    names = {entry.package for entry in sources}
    assert names.isdisjoint(EXCLUDED)
    assert not any(name.startswith(EXCLUDED_FAMILIES) for name in names)
    for entry in sources:
        assert all(not pattern.startswith("*.") for pattern in entry.files), entry


def test_build_writes_varied_pictures(package: Package, tmp_path: Path) -> None:
    out = tmp_path / "out"
    index = build_pictures([SOURCE], {"p": package}, out, budget_bytes=10**6)
    names = {str(entry["source"]).split("/")[-1].replace("-copy", "") for entry in index}
    assert names == {"photo0.png", "photo1.png", "photo2.png", "photo3.png"}
    assert len(index) == 4, "a copy is taken once"
    for entry in index:
        path = out / str(entry["file"])
        assert path.stat().st_size <= MAX_BYTES
        with Image.open(path) as image:
            assert image.size == (entry["width"], entry["height"])
            assert 160 <= min(image.size) <= max(image.size) <= 640
        assert entry["licence"] == "CC0"


def test_files_left_out_are_not_replaced(package: Package, tmp_path: Path) -> None:
    def names(**changes: Any) -> set[str]:
        index = build_pictures(
            [replace(SOURCE, **changes)], {"p": package}, tmp_path / "o", budget_bytes=10**6
        )
        return {str(entry["source"]) for entry in index}

    some = names(most=3)
    gone = sorted(some)[0]
    assert names(most=3, left_out=(gone.split("/")[-1],)) == some - {gone}


def test_the_budget_holds_and_a_build_repeats(package: Package, tmp_path: Path) -> None:
    sources = [SOURCE, replace(SOURCE, files=("**/photo1.png",))]
    first = build_pictures(sources, {"p": package}, tmp_path / "a", budget_bytes=30_000)
    second = build_pictures(sources, {"p": package}, tmp_path / "b", budget_bytes=30_000)
    assert first == second
    assert 0 < sum(path.stat().st_size for path in (tmp_path / "a").iterdir()) <= 30_000
    for entry in first:
        file = str(entry["file"])
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_transparent_pictures_are_cut_and_laid_on_white() -> None:
    image = Image.new("RGBA", (500, 400), (0, 0, 0, 0))
    image.paste((200, 0, 0, 255), (100, 50, 300, 250))
    laid = on_white(image)
    assert laid is not None
    assert laid.size == (200, 200)
    assert laid.getpixel((5, 5)) == pytest.approx(60, abs=2)
    assert on_white(Image.new("RGB", (90, 500))) is None


def test_a_large_picture_becomes_smaller_and_grey(package: Package, tmp_path: Path) -> None:
    photograph(1, 1500, 900).save(package.root / "pictures" / "photo1.png")
    index = build_pictures([SOURCE], {"p": package}, tmp_path / "out", budget_bytes=10**6)
    [entry] = [entry for entry in index if str(entry["source"]).endswith("photo1.png")]
    with Image.open(tmp_path / "out" / str(entry["file"])) as image:
        assert (image.mode, image.size) == ("L", (640, 384))


def test_plain_pictures_are_not_varied() -> None:
    assert not varied(Image.new("L", (64, 64), 90))
    assert varied(photograph(2).convert("L"))
