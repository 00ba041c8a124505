import torch

from encoders.types import VisionTokens
from ocr.speculative.page_draft import PageDrafts
from ocr.training.tokens import CHARACTERS
from tests.ocr.character_head.cells import sample
from tests.ocr.speculative.replay import LIMIT, TOKENIZER, encode, tokens_a_step


def page(cells: torch.Tensor | None) -> VisionTokens:
    return VisionTokens(tokens_TD=torch.zeros(1, 1), num_local=0, grid=(1, 1), cells_HW=cells)


def test_text_layer_first_and_head_where_that_is_something_else():
    cells, text = sample("report.pdf")
    seen = page(torch.from_numpy(cells))
    drafts = PageDrafts(TOKENIZER, CHARACTERS)
    assert tokens_a_step(drafts.of(seen, text), text) > 14
    assert tokens_a_step(drafts.of(seen, None), text) > 6
    assert tokens_a_step(drafts.of(seen, "\x00\x01 Xq zw " * 200), text) > 5


def test_a_model_without_a_head_and_a_page_without_a_layer():
    draft = PageDrafts(TOKENIZER, None).of(page(None), None)
    assert draft.propose([], LIMIT) == []
    row = encode("Name: ______ Date: ______\n")
    assert draft.propose(row * 3, 4) == row[:4]
