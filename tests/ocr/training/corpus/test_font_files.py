from pathlib import Path

import pymupdf
import pytest
import yaml

from ocr.training.corpus.font_files import (
    REQUIRED,
    build_fonts,
    draws,
    load_table,
    subset_font,
)
from ocr.training.corpus.packages import CorpusError, Package

DEJAVU = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
needs_dejavu = pytest.mark.skipif(not DEJAVU.is_file(), reason="needs the font package fonts-dejavu-core")


@needs_dejavu
def test_subset_keeps_the_characters_and_little_else(tmp_path: Path) -> None:
    whole = DEJAVU.read_bytes()
    small = subset_font(whole, "ABCÄfi€", ligatures=True)
    assert len(small) < len(whole) / 10
    path = tmp_path / "small.ttf"
    path.write_bytes(small)
    assert draws(path, "A")
    assert not draws(path, "Z")


@needs_dejavu
def test_build_writes_files_and_index(tmp_path: Path) -> None:
    package = Package(name="p", version="1", licence="free", root=DEJAVU.parent)
    files = {"regular": DEJAVU.name}
    entry = {"family": "D", "class": "sans", "split": "heldout", "packages": ["p"], "files": files}
    index = build_fonts([entry], {"p": package}, tmp_path)
    assert index[0]["styles"] == {"regular": "heldout/DejaVuSans.ttf"}
    assert (tmp_path / "heldout/DejaVuSans.ttf").stat().st_size < 100_000


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    package = Package(name="p", version="1", licence="free", root=tmp_path)
    files = {"regular": "Gone.ttf"}
    entry = {"family": "D", "class": "sans", "split": "train", "packages": ["p"], "files": files}
    with pytest.raises(CorpusError, match="Gone"):
        build_fonts([entry], {"p": package}, tmp_path)


def test_table_with_an_unknown_style_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fonts.yaml"
    entry = {"family": "D", "class": "sans", "split": "train", "packages": ["p"], "files": {"fat": "D.ttf"}}
    path.write_text(yaml.safe_dump([entry]))
    with pytest.raises(CorpusError, match="D: unknown"):
        load_table(path)


def test_required_characters_are_distinct_enough() -> None:
    for character in "Aäßœąőțﬁ“”—…€≤αΩ→":
        assert character in REQUIRED
    assert "Я" not in REQUIRED


def test_a_family_of_dots_is_drawn_from_a_bitmap_face(tmp_path: Path) -> None:
    (tmp_path / "face.ttf").write_bytes(pymupdf.Font("cour").buffer)
    package = Package(name="p", version="1", licence="free", root=tmp_path)
    entry = {
        "family": "D", "class": "mono", "split": "train", "packages": ["p"], "files": {"regular": "face.ttf"},
        "dots": {"height_px": 16, "radius": 0.45},
    }  # fmt: skip
    [made] = build_fonts([entry], {"p": package}, tmp_path / "out")
    assert made["styles"] == {"regular": "train/face-16-45.ttf"}
    assert draws(tmp_path / "out/train/face-16-45.ttf")
