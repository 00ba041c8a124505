"""Words get the boxes of what was seen on the page, and none where that is not the word."""

import pytest

from ocr.transcript.seen_words import boxes_among, with_seen_words
from ocr.types import Block, ParsedText, Word

BoxPx = tuple[int, int, int, int]


def lines(*texts: str, y: int = 0) -> list[tuple[str, BoxPx]]:
    """Words 10 wide a letter and 20 high, in lines 30 apart."""
    found: list[tuple[str, BoxPx]] = []
    for row, text in enumerate(texts):
        x = 0
        for word in text.split():
            found.append((word, (x, y + 30 * row, x + 10 * len(word), y + 30 * row + 20)))
            x += 10 * (len(word) + 1)
    return found


PAGE = lines("the harbour lay quiet in the early light", "and the boats were still heavy with their catch")
WORDS = [word for word, _ in PAGE]
BOXES = [box for _, box in PAGE]


def test_the_same_words_have_the_same_boxes() -> None:
    assert boxes_among(WORDS, PAGE) == BOXES


def test_marks_capitals_and_signs_make_no_difference() -> None:
    seen = lines("don't stop – it is “late”")
    own = ["**Don’t**", "Stop", "-", "##", "it", "_is_", '"late"']
    boxes = [box for _, box in seen]
    assert boxes_among(own, seen) == [*boxes[:3], None, *boxes[3:]]


def test_blocks_in_another_order_keep_their_boxes() -> None:
    assert boxes_among([*WORDS[8:], *WORDS[:8]], PAGE) == [*BOXES[8:], *BOXES[:8]]


def test_wrong_letters_cost_no_box_and_lost_words_nobody_else_s() -> None:
    own = [word.replace("harbour", "harb0ur").replace("heavy", "heay") for word in WORDS]
    assert boxes_among(own, PAGE) == BOXES
    del own[3]
    assert boxes_among(own, PAGE) == [*BOXES[:3], *BOXES[4:]]


def test_words_that_the_page_has_not_have_no_box() -> None:
    own = [*WORDS[:4], "invented", "nonsense", *WORDS[4:], "wolverine"]
    assert boxes_among(own, PAGE) == [*BOXES[:4], None, None, *BOXES[4:], None]
    assert boxes_among(["Greenfield", "Bakery"], PAGE) == [None, None]


def test_what_was_seen_in_another_s_place_is_its_place() -> None:
    """The model reads 42 where 17 was seen, between two words that both have."""
    seen = lines("a total amount of 17 dollars was paid in advance")
    own = ["a", "total", "amount", "of", "42", "dollars", "was", "paid", "in", "advance"]
    assert boxes_among(own, seen) == [box for _, box in seen]
    own[4] = "four-hundred-and-twenty"
    assert boxes_among(own, seen)[4] is None, "far too long for what was seen"


def test_words_seen_in_pieces_or_together() -> None:
    seen = lines("every mor ning the boatscome back to the harbour")
    own = ["every", "morning", "the", "boats", "come", "back", "to", "the", "harbour"]
    found = boxes_among(own, seen)
    assert found[1] == (60, 0, 140, 20)
    assert found[3:5] == [(190, 0, 240, 20), (240, 0, 280, 20)]


def test_a_word_over_two_lines_stands_in_that_of_most_of_it() -> None:
    seen = lines("the ships of the har-", "bourmaster are still heavy")
    found = boxes_among(["the", "ships", "of", "the", "harbourmaster", "are", "still", "heavy"], seen)
    assert found[4] == (0, 30, 100, 50)


def test_the_same_words_stand_in_their_regions() -> None:
    row = "sum of all the figures"
    seen = [*lines(row), *lines(row, y=500)]
    low = (0, 490, 400, 530)
    assert boxes_among(row.split(), seen, [low] * 5, margin_px=5) == [box for _, box in seen[5:]]
    assert boxes_among(row.split(), seen, [(500, 0, 900, 100)] * 5) == [None] * 5


def test_a_hair_s_breadth_is_no_place() -> None:
    seen = [("quarterly", (0, 0, 90, 20)), ("|", (95, 0, 96, 20)), ("figures", (100, 0, 170, 20))]
    assert boxes_among(["quarterly", "|", "figures"], seen) == [(0, 0, 90, 20), None, (100, 0, 170, 20)]


def test_a_text_s_words_are_in_its_order_and_in_the_boxes_of_its_blocks() -> None:
    row = "sum of all the figures"
    seen = [Word(text=text, box_px=box) for text, box in (*lines(row), *lines(row, y=500))]
    blocks = (
        Block(label="text", text=f"**{row}**", box_px=(0, 495, 400, 525)),
        Block(label="title", text=f"# {row}", box_px=(0, 0, 400, 25)),
    )
    parsed = with_seen_words(ParsedText(text=f"{row}\n\n{row}", markdown="", blocks=blocks), seen, 1000)
    assert [word.text for word in parsed.words] == parsed.text.split()
    assert [word.box_px for word in parsed.words] == [word.box_px for word in (*seen[5:], *seen[:5])]


@pytest.mark.parametrize("text", ["", "nothing alike 0123456789"])
def test_a_text_without_boxes_stays_as_it_is(text: str) -> None:
    parsed = ParsedText(text=text, markdown=text)
    assert with_seen_words(parsed, [Word(text=name, box_px=box) for name, box in PAGE], 1000) is parsed
    known = ParsedText(text="the", markdown="the", words=(Word(text="the", box_px=(1, 2, 3, 4)),))
    assert with_seen_words(known, [Word(text="the", box_px=(0, 0, 9, 9))], 1000) is known
