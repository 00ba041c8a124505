import io
import tarfile
from pathlib import Path

import pymupdf
import pytest
import yaml
from fontTools.ttLib import TTFont
from PIL import ImageFont

from ocr.training.corpus.font_files import (
    REQUIRED,
    build_family,
    dotted,
    draws,
    load_table,
    plain_font,
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
    entry = {"family": "D", "class": "sans", "packages": ["p"], "files": files}
    index = build_family(entry, {"p": package}, tmp_path)
    assert (index["styles"], index["lacks"]) == ({"regular": "DejaVuSans.ttf"}, "")
    assert (tmp_path / "DejaVuSans.ttf").stat().st_size < 100_000


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    package = Package(name="p", version="1", licence="free", root=tmp_path)
    files = {"regular": "Gone.ttf"}
    entry = {"family": "D", "class": "sans", "packages": ["p"], "files": files}
    with pytest.raises(CorpusError, match="Gone"):
        build_family(entry, {"p": package}, tmp_path)


def test_table_with_an_unknown_style_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fonts.yaml"
    entry = {"family": "D", "class": "sans", "packages": ["p"], "files": {"fat": "D.ttf"}}
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
        "family": "D", "class": "mono", "packages": ["p"], "files": {"regular": "face.ttf"},
        "dots": {"height_px": 16, "radius": 0.45},
    }  # fmt: skip
    (tmp_path / "out").mkdir()
    made = build_family(entry, {"p": package}, tmp_path / "out")
    assert made["styles"] == {"regular": "face-16-45.ttf"}
    assert draws(tmp_path / "out/face-16-45.ttf")


def test_each_pixel_becomes_a_dot() -> None:
    made = dotted(pymupdf.Font("cour").buffer, "IO", height_px=16, radius=0.4)
    font = TTFont(io.BytesIO(made))
    cmap = font.getBestCmap()
    assert set(cmap) == {ord(c) for c in " IO"}
    dots = {c: font["glyf"][cmap[ord(c)]].numberOfContours for c in "IO"}
    assert 10 < dots["I"] < 60
    assert 10 < dots["O"] < 60
    assert len({font["hmtx"][name][0] for name in cmap.values()}) == 1


def test_bolder_dots_ink_more() -> None:
    inked = []
    for radius in (0.35, 0.6):
        made = dotted(pymupdf.Font("cour").buffer, "H", height_px=16, radius=radius)
        with pymupdf.open() as document:
            page = document.new_page(width=60, height=60)
            writer = pymupdf.TextWriter(page.rect)
            writer.append((10, 45), "H", font=pymupdf.Font(fontbuffer=made), fontsize=36)
            writer.write_text(page)
            inked.append(sum(255 - v for v in page.get_pixmap(colorspace=pymupdf.csGRAY).samples))
    assert 0 < 1.5 * inked[0] < inked[1]


def _package(name: str) -> bytes:
    plain = dotted(pymupdf.Font("cour").buffer, "a", height_px=16, radius=0.4)
    font, packed = TTFont(io.BytesIO(plain)), io.BytesIO()
    font.flavor = "woff"
    font.save(packed)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(packed.getvalue())
        archive.addfile(member, io.BytesIO(packed.getvalue()))
    return out.getvalue()


def test_a_font_is_taken_out_plain() -> None:
    font = plain_font(_package("package/files/pen-latin-400-normal.woff"), "pen")
    assert font[:4] == b"\0\1\0\0"
    assert ImageFont.truetype(io.BytesIO(font), 40).getlength("aa") > 20


def test_a_package_without_a_latin_font() -> None:
    with pytest.raises(CorpusError, match="take another family"):
        plain_font(_package("package/files/pen-greek-400-normal.woff"), "pen")
