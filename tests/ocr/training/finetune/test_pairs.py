"""Pairs of a folder of pages and texts: those found, those left out and why, and the pixels the program would see."""

from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageDraw

from ocr.training.finetune.pairs import LeftOut, Pair, PairsError, explain, find_pairs, page_image
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.stages.render import render
from pipeline.types import Page

RENDER = RenderSettings(dpi=None, max_image_pixels=200_000_000)
TILE = TileSettings(mode="gundam", max_tiles=6)


def picture(width: int = 90, height: int = 40) -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).text((4, 4), "abc", "navy")
    return image


def write_pdf(path: Path, num_pages: int) -> None:
    with pymupdf.open() as document:
        for number in range(num_pages):
            document.new_page(width=300, height=420).insert_text((40, 60), f"page {number + 1}")
        document.save(path)


def only(folder: Path, truth: Path | None = None) -> Pair:
    (pair,), left_out = find_pairs(folder, truth)
    assert not left_out
    return pair


def reasons(left_out: list[LeftOut]) -> dict[str, str]:
    return {item.name: item.reason for item in left_out}


@pytest.mark.parametrize("name", ["page.png", "page.JPG", "page.tiff", "page.webp"])
def test_a_text_lies_beside_its_page(tmp_path: Path, name: str) -> None:
    picture().save(tmp_path / name)
    (tmp_path / "page.txt").write_bytes("\ufeff\r\nZu\u0308rich  \r\n\r\n 2nd line\r\n\n".encode())
    pair = only(tmp_path)
    assert (pair.name, pair.page_index, pair.kind) == (name, 0, "image")
    # Composed characters and the page's own lines; marks of the file format are no text.
    assert pair.text == "Zürich\n\n 2nd line"
    assert page_image(pair).pixels.shape == (40, 90, 3)


def test_texts_of_many_pages_lie_as_for_eval(tmp_path: Path) -> None:
    folder, truth = tmp_path / "pages", tmp_path / "truth"
    for file in ("a/fax.tif", "b.pdf"):
        (truth / file).mkdir(parents=True)
        for number in (1, 3):
            (truth / file / f"{number}.txt").write_text(f"{file} {number}")
    (folder / "a").mkdir(parents=True)
    frames = [picture(90 + i) for i in range(3)]
    frames[0].save(folder / "a" / "fax.tif", save_all=True, append_images=frames[1:])
    write_pdf(folder / "b.pdf", 2)
    picture().save(folder / "c.png")

    pairs, left_out = find_pairs(folder, truth)
    assert [(p.name, p.page_index, p.text) for p in pairs] == [
        ("a/fax.tif, page 1", 0, "a/fax.tif 1"),
        ("a/fax.tif, page 3", 2, "a/fax.tif 3"),
        ("b.pdf, page 1", 0, "b.pdf 1"),
    ]
    assert [page_image(p).pixels.shape[1] for p in pairs[:2]] == [90, 92]
    found = reasons(left_out)
    assert "no such page" in found.pop("b.pdf, page 3")
    assert "TRUTH" in found.pop("c.png")
    assert not found


def test_what_cannot_be_used_is_left_out_with_its_reason(tmp_path: Path) -> None:
    for name in ("good", "alone", "latin", "twice"):
        picture().save(tmp_path / f"{name}.png")
    picture().save(tmp_path / "twice.jpg")
    write_pdf(tmp_path / "long.pdf", 2)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    for name in ("good", "twice", "long", "broken", "orphan"):
        (tmp_path / f"{name}.txt").write_text("text")
    (tmp_path / "latin.txt").write_bytes("Größe".encode("latin-1"))

    pairs, left_out = find_pairs(tmp_path)
    assert [pair.name for pair in pairs] == ["good.png"]
    found = reasons(left_out)
    for name, part in {
        "alone.png": "no text",
        "latin.png": "UTF-8",
        "twice.png": "share one text",
        "twice.jpg": "share one text",
        "long.pdf": "--truth",
        "broken.png": "cannot be opened",
        "orphan.txt": "without a page",
    }.items():
        assert part in found.pop(name)
    assert not found
    told = explain(left_out)
    assert told.count("\n") == 6
    assert "left out 2: twice.jpg, twice.png: several" in told


def test_a_folder_without_pairs_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PairsError, match="no such folder"):
        find_pairs(tmp_path / "nowhere")
    with pytest.raises(PairsError, match="put its text beside it"):
        find_pairs(tmp_path)
    picture().save(tmp_path / "page.png")
    with pytest.raises(PairsError, match=r"left out 1: page\.png: no text"):
        find_pairs(tmp_path)


def test_a_cut_off_image_raises(tmp_path: Path) -> None:
    picture(400, 400).save(tmp_path / "page.jpg")
    (tmp_path / "page.jpg").write_bytes((tmp_path / "page.jpg").read_bytes()[:1500])
    (tmp_path / "page.txt").write_text("text")
    with pytest.raises(PairsError, match="cannot be decoded"):
        page_image(only(tmp_path))


def test_pixels_are_those_of_production(tmp_path: Path) -> None:
    picture(700, 900).save(tmp_path / "colour.png")
    Image.fromarray(np.arange(0, 63800, 11).astype(np.uint16).reshape(58, 100)).save(tmp_path / "deep.png")
    glass = Image.new("RGBA", (80, 50), (255, 0, 0, 0))
    glass.paste((0, 0, 255, 128), (10, 10, 40, 30))
    glass.save(tmp_path / "glass.png")
    turned = picture(60, 30)
    turned.save(
        tmp_path / "turned.jpg",
        exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0",
    )
    picture(90, 40).save(tmp_path / "fax.tif", dpi=(204, 98))
    write_pdf(tmp_path / "drawn.pdf", 1)
    for file in list(tmp_path.iterdir()):
        file.with_suffix(".txt").write_text("text")

    pairs, _ = find_pairs(tmp_path)
    assert len(pairs) == 6
    for pair in pairs:
        page = Page(path=str(pair.file), sha256=pair.name, kind=pair.kind, page_index=0)
        (expected,) = render([page], RENDER, TILE, OpenDocuments())
        image = page_image(pair)
        assert image.grid == expected.grid, pair.name
        difference = np.abs(image.pixels.astype(int) - expected.pixels.astype(int))
        assert difference.max() <= 1, pair.name
