"""A small database with real files, for the reader to show."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pymupdf
from PIL import Image

from storage.records.store import Store
from tests.storage.sample_records import WordRecord, a_file, a_page, a_run

HOSTILE = "<script>alert(1)</script> & \x1b[2J"
# As large as its page at 144 dpi.
SIZE = {"width_px": 600, "height_px": 800, "dpi": 144.0}
LETTER = "Dear Mr. Quill,\nthe rudder is bent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Page ids: 1 and 2 are the letter's, 3 is the sideways picture's, 4 that of a file that is gone."""

    database: str
    letter: Path
    sideways: Path


def make_shelf(folder: Path) -> Shelf:
    folder.mkdir(exist_ok=True)
    letter, sideways = folder / "letter <b>.pdf", folder / "sideways.png"
    with pymupdf.open() as document:
        document.new_page(width=300, height=400).insert_text((40, 60), LETTER.split("\n"))
        document.new_page(width=300, height=400)
        document.save(letter)
    picture = Image.new("RGB", (80, 60), "white")
    picture.paste(
        "red", (0, 0, 20, 20)
    )  # at the top left; after a quarter of a turn clockwise at the top right
    picture.save(sideways)
    database = str(folder / "shelf.db")
    with Store(database) as store:
        run = store.start_run(a_run())
        for path, kind, num_pages in ((letter, "pdf", 2), (sideways, "image", 1)):
            store.record_file(run, a_file(str(path), sha_of(path), kind=kind, num_pages=num_pages))
        store.record_file(run, a_file(str(folder / "gone.pdf"), "c" * 64, num_pages=1))
        words = tuple(
            WordRecord(text=word, box_px=(80 + 60 * i, 100, 130 + 60 * i, 130), confidence=0.4 + 0.09 * i)
            for i, word in enumerate(LETTER.split())
        )
        store.record_page(run, a_page(
            LETTER, 0, sha256=sha_of(letter), markdown="# Dear Mr. Quill,\n\nthe rudder is **bent**",
            confidence=0.9, words=words, **SIZE,
        ))  # fmt: skip
        store.record_page(run, a_page(None, 1, sha256=sha_of(letter)))
        store.record_page(run, a_page(
            HOSTILE, 0, sha256=sha_of(sideways), status="doubtful", doubt=f"why: {HOSTILE}",
            rotation_deg=90, width_px=60, height_px=80,
        ))  # fmt: skip
        store.record_page(run, a_page("still here", 0, sha256="c" * 64))
    return Shelf(database=database, letter=letter, sideways=sideways)


def sha_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
