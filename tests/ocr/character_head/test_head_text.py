from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ocr.character_head.head_text import head_text
from ocr.speculative.text_draft import TextDraft
from ocr.training.tokens import CHARACTERS
from ocr.transcript.token_bytes import TokenBytes
from tests.effort import effort
from tests.ocr.character_head.cells import sample
from tests.ocr.speculative.replay import TOKENIZER, tokens_a_step


@pytest.mark.parametrize(("name", "page"), [("report.pdf", 0), ("report.pdf", 1), ("two-column.pdf", 0)])
def test_a_head_without_fault_drafts_most_of_a_page(name, page):
    cells, text = sample(name, page)
    assert tokens_a_step(TextDraft(head_text(cells, CHARACTERS), TokenBytes(TOKENIZER)), text) > 6


def test_columns_are_read_one_after_the_other():
    cells, text = sample("two-column.pdf")
    seen = head_text(cells, CHARACTERS)
    firsts = [line.split()[0] for line in text.splitlines() if line.split()]
    orders = [seen.find(line[:12]) for line in text.splitlines() if len(line) > 40]
    found = [order for order in orders if order >= 0]
    assert len(found) > 0.6 * len(orders)
    assert sum(a < b for a, b in pairwise(found)) >= 0.95 * (len(found) - 1)
    assert firsts[0] in seen.split("\n")[0]


def test_a_page_takes_little_time():
    cells, _ = sample("two-column.pdf")
    head_text(cells, CHARACTERS)
    assert effort(lambda: head_text(cells, CHARACTERS)) < 16


def test_an_empty_page():
    assert head_text(np.zeros((120, 320), np.int16), CHARACTERS) == ""


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.int16, st.tuples(st.integers(1, 24), st.integers(1, 90)), elements=st.integers(0, 40)))
def test_any_cells_are_taken(cells):
    assert isinstance(head_text(cells, CHARACTERS), str)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.6))
def test_a_damaged_page_is_taken(seed, share):
    cells, _ = sample("report.pdf")
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, len(CHARACTERS) + 2, cells.shape).astype(np.int16)
    head_text(np.where(rng.random(cells.shape) < share, noise, cells), CHARACTERS)
