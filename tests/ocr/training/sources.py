"""A corpus small enough for tests: three built-in typefaces and a little text."""

import json
import lzma
from pathlib import Path

import pymupdf

SENTENCE = "The quick brown fox jumps over the lazy dog, and nobody is any the wiser for it. "
CODE = "def area(width, height):\n    size = width * height\n    return size"


def make_corpus(folder: Path) -> Path:
    """Writes text/ and fonts/ as ocr.training.corpus would; returns the folder."""
    (folder / "text").mkdir(parents=True)
    (folder / "fonts").mkdir()
    prose = "\n\n".join(f"{number}. " + SENTENCE * 5 for number in range(24))
    texts = {
        "en_prose": prose,
        "de": "Größe und Maß der Straße. " * 9 + "\n\n" + "Ärger übt. " * 9,
        "code": CODE,
    }
    for name, text in texts.items():
        (folder / "text" / f"{name}.txt.xz").write_bytes(lzma.compress(f"{text}\n\n{text}".encode()))
    families = []
    for name, kind in (("tiro", "serif"), ("helv", "sans"), ("cour", "mono")):
        (folder / "fonts" / f"{name}.otf").write_bytes(pymupdf.Font(name).buffer)
        families.append({"family": name, "class": kind, "styles": {"regular": f"{name}.otf"}})
    (folder / "fonts" / "index.json").write_text(json.dumps(families))
    return folder
