"""What may be a heading by its letters."""

import pytest

from ocr.paragraphs.line_kinds import heading, may_be_heading

HEADINGS = (
    "Section 4", "§ 12", "B", "摘要", "R&D", "a) Losses", "1.2 The type t_LIST.", "Tables", "Tableau de bord",
    "Ingredients:",
    "2.1 How it came to be, and why there are two names where one might well have been enough.",
)  # fmt: skip
OTHERS = (
    "12", "— —", "IV", "4.47 €", "21 Contributing\t77", "Preface\tix", "7 Adding files . . . . . . 57",
    "Figure 7: Rates", "Tabelle 3", "where the decision function is", "The names of all,", "W = x", "> coef(fm)",
    "The object now contains information about the estimated linear function and its covariance.",
)  # fmt: skip


@pytest.mark.parametrize("text", HEADINGS)
def test_what_stands_above_a_section_may_be_its_heading(text: str) -> None:
    assert may_be_heading(text)
    assert [heading(text, size, 10.0) for size in (10.0, 12.0, 16.0)] == [None, "sub_title", "title"]


@pytest.mark.parametrize("text", OTHERS)
def test_marks_entries_captions_formulas_programs_and_parts_of_sentences_are_none(text: str) -> None:
    assert not may_be_heading(text)
    assert heading(text, 16.0, 10.0) is None
