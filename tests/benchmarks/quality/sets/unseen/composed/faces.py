"""The typefaces of composed pages: families that no training list names."""

import random
from dataclasses import dataclass
from pathlib import Path

import pymupdf
import yaml

_TABLE = Path(__file__).with_name("faces.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """A typeface. use: what it is for. files: by style ("regular", "bold", "italic"), below the package's root."""

    family: str
    use: str
    package: str
    files: dict[str, str]


def load() -> list[Face]:
    return [Face(**entry) for entry in yaml.safe_load(_TABLE.read_text(encoding="utf-8"))]


def pick(rng: random.Random, faces: list[Face], use: str) -> Face:
    return rng.choice([face for face in faces if face.use == use])


def stylesheet(roots: dict[str, Path], **chosen: Face) -> tuple[str, pymupdf.Archive]:
    """Returns the CSS that makes the faces known under the given names, and the files it refers to."""
    archive, rules = pymupdf.Archive(), []
    for alias, face in chosen.items():
        for style, file in face.files.items():
            name = f"{alias}-{style}{Path(file).suffix}"
            archive.add((roots[face.package] / file).read_bytes(), name)
            weight = "bold" if style == "bold" else "normal"
            slant = "italic" if style == "italic" else "normal"
            rules.append(
                f"@font-face{{font-family:{alias};src:url('{name}');font-weight:{weight};font-style:{slant}}}"
            )
    return "".join(rules), archive
