from ocr.speculative.page_draft import PageDrafts
from tests.ocr.speculative.replay import LIMIT, TOKENIZER, encode, tokens_a_step

TEXT = "A text layer's words are drafted one after the other, until something else is written. " * 8


def test_the_text_layer_is_drafted() -> None:
    assert tokens_a_step(PageDrafts(TOKENIZER).of(TEXT), TEXT) > 10


def test_a_page_without_a_layer_gets_its_own_repetitions() -> None:
    draft = PageDrafts(TOKENIZER).of(None)
    assert draft.propose([], LIMIT) == []
    row = encode("Name: ______ Date: ______\n")
    assert draft.propose(row * 3, 4) == row[:4]
