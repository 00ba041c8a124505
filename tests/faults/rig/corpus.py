"""Builds documents for interrupted runs: samples, PDFs of many pages, images, and some that cannot be read."""

import random
import shutil
from pathlib import Path

import pymupdf
from PIL import Image, ImageDraw

SAMPLES = Path(__file__).parents[2] / "samples"
_WORDS = (
    "night", "page", "paper", "river", "copper", "answer", "window", "letter", "morning", "garden", "harbour",
)  # fmt: skip
_PAGES_PER_PDF = 8


def build(folder: Path, num_pages: int, seed: int = 0) -> Path:
    """Fills a new folder with readable documents of `num_pages` pages, the samples among them; returns it.

    The same seed makes the same pages. The folder also gets a copy of a document, one that needs a password, a broken
    one, an empty one, and a text file, none of which adds a page to read.
    """
    folder.mkdir(parents=True)
    chance = random.Random(seed)
    for sample in sorted(SAMPLES.iterdir()):
        shutil.copyfile(sample, folder / sample.name)
    made = 11  # pages of the samples
    for number in range(max(1, (num_pages - made) // 12)):
        _image(folder / f"card-{number}.png", chance)
        made += 1
    _frames(folder / "pages.tiff", chance, 3)
    made += 3
    number = 0
    while made < num_pages:
        count = min(_PAGES_PER_PDF, num_pages - made)
        write_pdf(folder / "long" / f"{number:03d}.pdf", [text(chance) for _ in range(count)])
        made += count
        number += 1
    _unreadable(folder)
    return folder


def text(chance: random.Random) -> str:
    """Returns a few lines of words; one page in nine is empty."""
    if chance.random() < 1 / 9:
        return ""
    return "\n".join(" ".join(chance.choices(_WORDS, k=6)) for _ in range(chance.randint(2, 9)))


def write_pdf(path: Path, texts: list[str]) -> Path:
    """Writes a PDF with a page for each text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pymupdf.open() as document:
        for number, words in enumerate(texts):
            page = document.new_page(width=300 + 5 * (number % 3), height=300)
            if words:
                page.insert_text((20, 40), words, fontsize=11)
        document.save(path, no_new_id=True)
    return path


def _image(path: Path, chance: random.Random) -> None:
    _drawn(chance).save(path)


def _frames(path: Path, chance: random.Random, count: int) -> None:
    first, *others = [_drawn(chance) for _ in range(count)]
    first.save(path, save_all=True, append_images=others, compression="tiff_deflate")


def _drawn(chance: random.Random) -> Image.Image:
    picture = Image.new("L", (300, 200 + 10 * chance.randrange(4)), 255)
    words = " ".join(chance.choices(_WORDS, k=4))
    ImageDraw.Draw(picture).text(
        (15, chance.randint(10, 150)), words, fill=0, font_size=chance.randint(12, 20)
    )
    return picture


def _unreadable(folder: Path) -> None:
    shutil.copyfile(folder / "report.pdf", folder / "copy of report.pdf")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing else")
    (folder / "empty.png").touch()
    (folder / "notes.txt").write_text("not a document\n", encoding="utf-8")
    with pymupdf.open() as document:
        document.new_page()
        document.save(
            folder / "secret.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="a", owner_pw="b"
        )
