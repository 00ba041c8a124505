import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from ocr.speculative.text_draft import TextDraft
from ocr.transcript.token_bytes import TokenBytes
from tests.effort import effort
from tests.ocr.speculative.replay import LIMIT, TOKENIZER, encode, tokens_a_step, truth

BYTES = TokenBytes(TOKENIZER)
WORDS = st.lists(
    st.sampled_from(["the", "Ärger", "a b", "x,", "12", "\n", "\n\n", "\t", "–", "<td>"]), max_size=60
)


def draft(text: str) -> TextDraft:
    return TextDraft(text, BYTES)


def go_on(source: str, written: str, limit: int = LIMIT) -> str:
    return TOKENIZER.decode(draft(source).propose(encode(written), limit), skip_special_tokens=False)


def test_a_page_begins_as_its_text_does():
    assert go_on("Dear reader,\nwelcome.", "", 40) == "Dear reader,\nwelcome."


def test_a_text_that_is_right_is_taken_whole():
    text = truth("report.pdf")
    steps = len(encode(text)) / tokens_a_step(draft(text), text)
    assert steps <= len(encode(text)) / (LIMIT + 1) + 1


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("The old mill", " stands by the river."),
        ("The old mi", "ll stands by the river."),
        ("The old ", "mill stands by the river."),
        ("The\nold", " mill stands by the river."),
        ("The o1d mill", " stands by the river."),
        ("The oold mill stan", "ds by the river."),
        ("Title\nThe old mill", " stands by the river."),
    ],
)
def test_goes_on_from_what_was_written(written, expected):
    assert go_on("The old mill stands by the river.", written) == expected


def test_the_place_next_to_the_expected_one_is_taken():
    text = "alpha beta gamma one.\nSome other words.\nalpha beta gamma two.\nMore words.\nalpha beta gamma three."
    # From the second on, though the first and the third begin alike.
    assert go_on(text, "alpha beta gamma one.\nSome other words.\nalpba beta gamma").startswith(" two")


def test_one_character_misread_costs_one_step_even_of_two_bytes():
    source = "{ 'o', 'ó', 'ò' },\n{ 'p' },"
    assert go_on(source, "{ 'o', '6") == "', 'ò' },\n{ 'p' },"


def test_how_lines_are_broken_is_learnt():
    lines = [
        " ".join(random.Random(number).choices(["oak", "elm", "ash", "fir", "yew"], k=6))
        for number in range(30)
    ]
    one_line = " ".join(lines)
    assert tokens_a_step(draft("\n".join(lines)), one_line) > 10


def test_table_tags_are_learnt():
    rows = [[f"{a}{b}" for b in ("left", "middle", "right")] for a in range(20)]
    source = "\n".join("\t".join(row) for row in rows)
    table = "<table>" + "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows) + "</table>"
    assert tokens_a_step(draft(source), table) > 6


def test_regions_of_grounded_text_are_passed_over():
    written = "<|ref|>title<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\nThe old"
    assert go_on("The old mill stands.", written) == " mill stands."
    assert go_on("The old mill stands.", "<|ref|>title<|/ref|><|det|>[[1") == ""


def test_a_text_that_is_another_says_nothing():
    assert (
        go_on("The old mill stands by the river.", "Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich")
        == ""
    )


def test_a_page_that_was_rewound_starts_over():
    text = "The old mill stands by the river."
    page = draft(text)
    page.propose(encode("The old mill stands"), LIMIT)
    assert TOKENIZER.decode(page.propose(encode("The old"), LIMIT)) == " mill stands by the river."
    assert TOKENIZER.decode(page.propose(encode("The other mill"), LIMIT)) == " stands by the river."


def test_a_text_with_errors_still_helps():
    text = truth("two-column.pdf")
    rng = random.Random(5)
    worn = "".join(rng.choice("aeinst") if rng.random() < 0.02 else letter for letter in text)
    assert tokens_a_step(draft(worn), text) > 6


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=200), WORDS.map(" ".join)), st.data())
def test_any_text_and_any_tokens_are_taken(text, data):
    page = draft(text)
    tokens: list[int] = []
    for more in data.draw(st.lists(st.lists(st.integers(0, 4200), min_size=1, max_size=70), max_size=6)):
        tokens += more
        limit = data.draw(st.integers(1, 20))
        proposed = page.propose(tokens, limit)
        assert len(proposed) <= limit
        tokens += proposed[: data.draw(st.integers(0, 20))]


@settings(max_examples=60, deadline=None)
@given(WORDS.map(" ".join), WORDS.map(" ".join))
def test_any_writing_is_followed(source, written):
    tokens_a_step(draft(source), written)


def test_a_tokenizer_that_changes_the_text_gives_no_draft():
    words = Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    assert TextDraft("a b a", TokenBytes(words)).propose([], LIMIT) == []


def test_a_long_text_is_followed_quickly():
    rng = random.Random(1)
    source = " ".join("".join(rng.choices("abcdefghij", k=6)) for _ in range(6000))
    page = draft(source)
    tokens = [rng.randrange(15, 4096) for _ in range(2000)]  # nothing of it is there: the slowest case
    page.propose([], LIMIT)

    def follow():
        for count in range(1, len(tokens)):
            page.propose(tokens[:count], LIMIT)

    assert effort(follow) / len(tokens) < 0.06
