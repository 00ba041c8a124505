"""All words of a page's text are in its regions, in order, whatever its blocks say."""

from storage.export.regions import regions
from storage.export.rows import BlockRow, PageRow
from tests.storage.export.page_rows import a_letter, a_row, word


def texts(row: PageRow) -> list[tuple[str, list[str]]]:
    return [
        (region.label, [" ".join(word["text"] for word in line.words) for line in region.lines])
        for region in regions(row)
    ]


def test_blocks_are_regions_with_their_lines() -> None:
    row = a_letter()
    assert texts(row) == [("title", ["Dear <you> & me"]), ("image", []), ("text", ["one two", "three lost"])]
    title, image, text = regions(row)
    assert (title.box, title.confidence) == ((100, 100, 500, 140), 0.75)
    assert image.box == (600, 600, 900, 900)
    assert text.box == (100, 200, 220, 280)  # around its words, as the block has none
    assert [line.box for line in text.lines] == [(100, 200, 220, 232), (100, 250, 190, 280)]


def test_a_text_that_is_not_the_blocks_is_paragraphs() -> None:
    row = a_row(
        "a new\nline\n\n\n\nend",
        blocks=[BlockRow(label="title", box=(1, 2, 3, 4), text="an old", confidence=None, source="ocr")],
        words=[word("a", 1, 1, 2, 2), word("new"), word("line"), word("end")],
    )
    assert texts(row) == [("text", ["a new", "line"]), ("text", ["end"])]


def test_words_without_places_are_there() -> None:
    (region,) = regions(a_row("one two"))
    assert [word["text"] for word in region.lines[0].words] == ["one", "two"]
    assert (region.box, region.lines[0].box) == (None, None)
