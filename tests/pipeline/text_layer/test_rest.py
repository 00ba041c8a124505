"""Pages with a sound layer and pictures: what only the pictures show is read, and put where it stands."""

from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from ocr.line_reader.reading import LineReader
from ocr.types import Block, ParsedText, Word
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.ingest.workers.worker import render_task
from pipeline.readers.text_layers import with_rest
from pipeline.stages.read_lines import read_lines
from pipeline.text_layer.rest import completed
from pipeline.types import EmbeddedPage, Layer, PageResult
from storage.types import PageError
from tests.faults.doubt.layer_pages import KINDS, document
from tests.ocr.line_reader.printed import shipped
from tests.pipeline.text_layer.test_page import SAMPLES, page_of

ABOVE, BELOW = "What the harbour master wrote", "He went home after that"


@pytest.fixture(scope="module")
def reader() -> LineReader:
    return shipped()


def taken(path: Path) -> EmbeddedPage:
    found = render_task(page_of(path), RenderSettings(text_layer="auto"), TileSettings(lines=True))
    assert isinstance(found, EmbeddedPage)
    return found


def read(path: Path, reader: LineReader) -> PageResult:
    found = taken(path)
    assert found.rest is not None
    assert found.num_bytes == found.rest.num_bytes > 0 == found.without_views().num_bytes
    return with_rest(found, read_lines(found.rest, reader))


def picture_of(*lines: str, light: bool = False) -> bytes:
    """Returns a PNG of lines in print."""
    with pymupdf.open() as drawn:
        page = drawn.new_page(width=300, height=20 + 20 * len(lines))
        if light:
            page.draw_rect(page.rect, fill=(0.1, 0.2, 0.3))
        for number, line in enumerate(lines):
            page.insert_text(
                (12, 24 + 20 * number), line, fontsize=13, color=(1, 1, 1) if light else (0, 0, 0)
            )
        data: bytes = page.get_pixmap(dpi=200).tobytes("png")
        return data


def mixed(path: Path, picture: bytes) -> Path:
    with pymupdf.open() as made:
        page = made.new_page(width=420, height=595)
        page.insert_text((50, 60), "The harbour book", fontsize=20)
        page.insert_text((50, 100), ABOVE, fontsize=11)
        page.insert_image(pymupdf.Rect(50, 130, 350, 230), stream=picture)
        page.insert_text((50, 280), BELOW, fontsize=11)
        page.insert_link(
            {"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(50, 268, 180, 284), "uri": "https://example.org"}
        )
        made.save(path)
    return path


@pytest.mark.parametrize("light", [False, True])
def test_what_a_picture_shows_stands_between_what_is_above_and_below_it(
    tmp_path: Path, reader: LineReader, light: bool
) -> None:
    made = read(
        mixed(tmp_path / "a.pdf", picture_of("Boats that came in: 417", "Crates: 96", light=light)), reader
    )
    assert (made.status, made.source, made.confidence, made.doubt) == ("embedded", "layer", None, None)
    assert made.parsed is not None
    title, above, *shown, below = made.parsed.blocks
    assert [block.text for block in (title, above, below)] == ["The harbour book", ABOVE, BELOW]
    assert " ".join(" ".join(block.text for block in shown).split()) == "Boats that came in: 417 Crates: 96"
    assert all(block.confidence is None for block in (title, above, below))
    assert all((block.confidence or 0) > 0.8 and block.label == "text" for block in shown)
    for block in shown:
        x0, y0, x1, y1 = block.box_px or (0, 0, 0, 0)
        assert 2 * 45 < x0 < x1 < 2 * 355
        assert 2 * 125 < y0 < y1 < 2 * 235
    parts = made.parsed.markdown.split("\n\n")
    assert parts[0] == "# The harbour book"
    assert "](https://example.org)" in parts[-1]
    assert [word.text for word in made.parsed.words] == made.parsed.text.split()
    assert {timing.stage for timing in made.timings} == {"layer", "render", "tile", "find", "read", "order"}


@pytest.mark.parametrize("kind", ["photograph_beside", "chart_beside"])
def test_pictures_without_print_add_nothing(tmp_path: Path, reader: LineReader, kind: str) -> None:
    with document(KINDS[kind]) as made:
        made.save(tmp_path / "a.pdf")
    result = read(tmp_path / "a.pdf", reader)
    assert result.parsed is not None
    assert (result.status, result.parsed.text) == ("embedded", taken(tmp_path / "a.pdf").layer.text)


def test_words_in_pictures_that_cannot_be_read_make_the_page_doubtful(
    tmp_path: Path, reader: LineReader
) -> None:
    found = taken(mixed(tmp_path / "a.pdf", picture_of("Boats that came in: 417")))
    assert found.rest is not None
    sure = read_lines(found.rest, reader)
    assert sure.parsed is not None
    unsure = replace(
        sure.parsed, blocks=tuple(replace(block, confidence=0.6) for block in sure.parsed.blocks)
    )
    result = with_rest(found, replace(sure, parsed=unsure))
    assert (result.status, result.doubt) == ("doubtful", "its pictures seem to show words that were not read")
    assert result.parsed is not None
    assert result.parsed.text == found.layer.text


def test_a_page_without_pictures_is_not_drawn() -> None:
    assert taken(SAMPLES / "report.pdf").rest is None


def test_where_the_pictures_cannot_be_read_the_page_says_so(tmp_path: Path) -> None:
    found = taken(mixed(tmp_path / "a.pdf", picture_of("Boats that came in: 417")))
    assert found.rest is not None
    failed = PageResult(
        page=found.page,
        status="failed",
        parsed=None,
        error=PageError(stage="read", category="memory", message="it took more memory than it may"),
    )
    result = with_rest(found, failed)
    assert (result.status, result.source) == ("doubtful", "layer")
    assert result.doubt == "what its pictures show was not read: it took more memory than it may"
    assert result.parsed is not None
    assert result.parsed.text == found.layer.text


def test_what_was_read_badly_casts_doubt_on_the_page_where_it_is_much(
    tmp_path: Path, reader: LineReader
) -> None:
    for lines, status in ((["Boats: 4"], "embedded"), (["Boats that came in: 417"] * 4, "doubtful")):
        found = taken(mixed(tmp_path / f"{status}.pdf", picture_of(*lines)))
        assert found.rest is not None
        rest = replace(
            read_lines(found.rest, reader), status="doubtful", doubt="in a script it does not know"
        )
        result = with_rest(found, rest)
        assert (result.status, bool(result.doubt)) == (status, status == "doubtful")


def text_of(*blocks: tuple[str, tuple[int, int, int, int]]) -> ParsedText:
    made = [(Block(label="text", text=text, box_px=box, confidence=0.99), text) for text, box in blocks]
    return ParsedText.of(
        [(block, tuple(Word(text=word) for word in text.split()), text) for block, text in made]
    )


def test_what_was_read_beside_a_narrow_column_stands_between_what_is_above_and_below_it() -> None:
    """The head of a page may be the last that its layer holds."""
    own = text_of(
        ("Menus", (140, 280, 370, 320)),
        ("List", (160, 400, 330, 530)),
        ("File menu", (140, 880, 300, 910)),
        ("A full line", (210, 970, 1040, 1020)),
        ("Page head", (1000, 77, 1120, 99)),
    )
    layer = Layer(
        text=own.text, markdown=own.markdown, blocks=own.blocks, words=own.words, is_trustworthy=False, reason="",
        script=None, parts=tuple(block.text for block in own.blocks),
    )  # fmt: skip
    read = text_of(("August", (680, 190, 820, 220)), ("Save Exit", (670, 560, 1110, 840)))
    assert [block.text for block in completed(layer, read).blocks] == [
        "August", "Menus", "List", "Save Exit", "File menu", "A full line", "Page head",
    ]  # fmt: skip
