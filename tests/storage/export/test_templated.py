"""hOCR, ALTO and PAGE XML: well-formed, by their schemas where those are at hand, with every word in its place.

The schemas' licences are others than ours, so they are not here: OCRBATCH_SCHEMAS names a folder with alto-4-4.xsd,
page.xsd (PRImA's 2019-07-15 pagecontent.xsd) and xlink.xsd.
"""

import io
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.export.formats import FORMATS
from storage.export.rows import BlockRow, PageRow
from tests.storage.export.page_rows import a_failure, a_letter, a_row
from tests.storage.export.page_rows import word as placed

ALTO = "{http://www.loc.gov/standards/alto/ns-v4#}"
PAGE = "{http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15}"
XHTML = "{http://www.w3.org/1999/xhtml}"
SCHEMAS = os.environ.get("OCRBATCH_SCHEMAS", "")
PLACED = {
    "Dear": (100, 100, 200, 140), "<you>": (210, 100, 300, 140), "&": (310, 100, 330, 140), "me": (340, 100, 500, 140),
    "one": (100, 200, 150, 230), "two": (160, 202, 220, 232), "three": (100, 250, 190, 280), "lost": None,
}  # fmt: skip


def written(name: str, *rows: PageRow) -> str:
    stream = io.StringIO()
    FORMATS[name].write(rows, stream)
    return stream.getvalue()


def hocr_words(root: Any) -> dict[str, Any]:
    def box(title: str) -> Any:
        found = [part.split()[1:] for part in title.split("; ") if part.startswith("bbox")]
        return tuple(map(int, found[0])) if found else None

    return {
        word.text: box(word.get("title", ""))
        for word in root.iter(f"{XHTML}span")
        if word.get("class") == "ocrx_word"
    }


def alto_words(root: Any) -> dict[str, Any]:
    def box(element: Any) -> Any:
        if element.get("HPOS") is None:
            return None
        x, y, width, height = (int(element.get(name)) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT"))
        return x, y, x + width, y + height

    return {word.get("CONTENT"): box(word) for word in root.iter(f"{ALTO}String")}


def page_words(root: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in root.iter(f"{PAGE}TextLine"):
        found |= dict.fromkeys(line.find(f"{PAGE}TextEquiv/{PAGE}Unicode").text.split())
        for word in line.iter(f"{PAGE}Word"):
            points = word.find(f"{PAGE}Coords").get("points").split()
            corners = (points[0].split(","), points[2].split(","))
            found[word.find(f"{PAGE}TextEquiv/{PAGE}Unicode").text] = tuple(
                int(side) for xy in corners for side in xy
            )
    return found


@pytest.mark.parametrize(
    ("name", "words"), [("hocr", hocr_words), ("alto", alto_words), ("page", page_words)]
)
def test_every_word_is_there_in_its_place(name: str, words: Callable[[Any], dict[str, Any]]) -> None:
    assert words(ElementTree.fromstring(written(name, a_letter()))) == PLACED


def test_hocr_has_each_word_s_confidence_in_hundredths() -> None:
    words = [
        placed(text, 10, 10, 20, 20, confidence=share)
        for text, share in (("a", 0.876), ("b", 1.0), ("c", None))
    ]
    blocks = [BlockRow(label="text", box=(10, 10, 60, 20), text="a b c", confidence=None, source="ocr")]
    root = ElementTree.fromstring(written("hocr", a_row("a b c", blocks=blocks, words=words)))
    titles = {
        span.text: span.get("title") for span in root.iter(f"{XHTML}span") if span.get("class") == "ocrx_word"
    }
    assert titles == {
        "a": "bbox 10 10 20 20; x_wconf 88", "b": "bbox 10 10 20 20; x_wconf 100", "c": "bbox 10 10 20 20",
    }  # fmt: skip


def test_pages_without_a_text_are_there_and_say_why() -> None:
    for name, tag in (("hocr", f"{XHTML}div"), ("alto", f"{ALTO}Page"), ("page", f"{PAGE}Page")):
        rows = [a_failure()] if name == "page" else [a_letter(), a_failure()]
        text = written(name, *rows)
        assert "<!-- page 2: failed: render: crash: bad - -> <b>" in text
        pages = [
            element
            for element in ElementTree.fromstring(text).iter(tag)
            if element.get("class") in (None, "ocr_page")
        ]
        assert len(pages) == len(rows)


def test_figures_are_regions_of_their_own() -> None:
    assert 'class="ocr_photo"' in written("hocr", a_letter())
    assert 'Illustration ID="p1_b2" HPOS="600" VPOS="600" WIDTH="300" HEIGHT="300"' in written(
        "alto", a_letter()
    )
    assert '<ImageRegion id="r2"><Coords points="600,600 900,600 900,900 600,900"' in written(
        "page", a_letter()
    )


@pytest.mark.parametrize(
    ("name", "words"), [("hocr", hocr_words), ("alto", alto_words), ("page", page_words)]
)
@given(text=st.text(st.sampled_from("a&<>\"';]\x00\ud800é😀"), min_size=1, max_size=8))
def test_any_word_is_read_back(name: str, words: Callable[[Any], dict[str, Any]], text: str) -> None:
    row = a_row(text, words=[placed(text, 1, 2, 3, 4)], path=f"/in/{text}.pdf")
    read = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert words(ElementTree.fromstring(written(name, row))) == {read: (1, 2, 3, 4)}


@pytest.mark.parametrize("name", ["hocr", "alto", "page"])
def test_nothing_in_a_document_is_markup(name: str) -> None:
    row = a_row('a"b <script>alert(1)</script> \x01 ]]> -- \ufffe', path='/in/"<x>\n&\\.pdf')
    text = written(name, row)
    ElementTree.fromstring(text)
    assert "<script" not in text
    assert "\x01" not in text


@pytest.mark.parametrize(("name", "schema"), [("alto", "alto-4-4.xsd"), ("page", "page.xsd")])
def test_it_is_by_its_schema(name: str, schema: str) -> None:
    if not SCHEMAS:
        pytest.skip("OCRBATCH_SCHEMAS names no folder of schemas")
    from lxml import etree

    text = (Path(SCHEMAS) / schema).read_bytes()
    text = text.replace(
        b"http://www.loc.gov/standards/xlink/xlink.xsd", f"file://{SCHEMAS}/xlink.xsd".encode()
    )
    checked = etree.XMLSchema(etree.fromstring(text))
    for rows in ([a_letter()], [a_failure()], [a_row("one two")]):
        checked.assertValid(etree.fromstring(written(name, *rows).encode()))


@pytest.mark.skipif(shutil.which("hocr-check") is None, reason="hocr-tools is not installed")
def test_hocr_is_what_hocr_tools_accept(tmp_path: Path) -> None:
    file = tmp_path / "a.hocr"
    file.write_text(
        written("hocr", a_letter()), encoding="utf-8"
    )  # of several pages it compares boxes across pages
    done = subprocess.run(["hocr-check", str(file)], capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).splitlines()
    assert [line for line in said if line.startswith("not ok")] == []
    assert sum(line.startswith("ok") for line in said) > 10
