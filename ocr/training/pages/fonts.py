"""The typefaces of training pages, by kind."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import pymupdf


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A typeface: file names by style ("regular", "bold", "italic", "bolditalic") in one folder."""

    name: str
    kind: str
    styles: dict[str, str]


class Fonts:
    """The families of one split, from `index.json` next to the font files."""

    def __init__(self, folder: Path, split: str = "train") -> None:
        self.folder = folder
        entries = json.loads((folder / "index.json").read_text())
        self.families = [
            Family(name=e["family"], kind=e["class"], styles=e["styles"])
            for e in entries
            if e["split"] == split
        ]

    def archive(self, pictures: dict[str, bytes]) -> pymupdf.Archive:
        """The files one page's markup refers to: fonts, and its pictures by name."""
        archive = pymupdf.Archive(str(self.folder))
        for name, content in pictures.items():
            archive.add(content, name)
        return archive

    def choose(self, rng: random.Random, *kinds: str) -> Family:
        """One family of the kinds wanted; of any kind where none is."""
        return rng.choice([f for f in self.families if f.kind in kinds] or self.families)


def font_face(alias: str, family: Family) -> str:
    """The CSS that makes a family known as `alias`."""
    rules = []
    for style, file in family.styles.items():
        weight = "bold" if "bold" in style else "normal"
        slant = "italic" if "italic" in style else "normal"
        rules.append(
            f"@font-face{{font-family:{alias};src:url('{file}');font-weight:{weight};font-style:{slant}}}"
        )
    return "".join(rules)
