"""Changes of a text are made in its markdown, whose headings, tables and emphasis stay."""

import pytest

from pipeline.viewer.correcting import carried

TEXT = "Price list\n\nWork Price\nPlanks, three 120\nPaint 35\n\nPay by Friday\nor call us."
MARKDOWN = (
    "# Price list\n\n| Work | Price |\n|---|---:|\n| Planks, three | 120 |\n| Paint | 35 |\n\n"
    "Pay by **Friday**\nor call us."
)


@pytest.mark.parametrize(
    ("old", "new", "markdown_old", "markdown_new"),
    [
        ("Price list", "Prize list", "# Price list", "# Prize list"),
        ("Friday", "Monday", "**Friday**", "**Monday**"),
        ("Planks, three", "Planks, thirty three", "| Planks, three |", "| Planks, thirty three |"),
        ("Planks, three", "Planks", "| Planks, three |", "| Planks |"),
        ("Planks, three 120", "Planks,three 120", "| Planks, three |", "| Planks,three |"),
        ("120", "1|20", "120", r"1\|20"),
        ("call us.", "call us now.", "call us.", "call us now."),
        ("or call us.", "or call.", "or call us.", "or call."),
        ("Friday", "Friday noon", "**Friday**", "**Friday** noon"),
        ("Price list", "Price list, 2023", "# Price list", "# Price list, 2023"),
    ],
)
def test_a_change_is_made_where_the_words_stand(
    old: str, new: str, markdown_old: str, markdown_new: str
) -> None:
    found = carried(TEXT, MARKDOWN, TEXT.replace(old, new, 1))
    assert found == MARKDOWN.replace(markdown_old, markdown_new, 1)


def test_several_changes_are_all_made() -> None:
    text = TEXT.replace("list", "List").replace("35", "36").replace("us.", "me.")
    found = carried(TEXT, MARKDOWN, text)
    assert found == MARKDOWN.replace("list", "List").replace("35", "36").replace("us.", "me.")


def test_tags_of_a_table_are_no_words() -> None:
    markdown = "<table><tr><td colspan=2>Work</td></tr><tr><td>Paint</td><td>35</td></tr></table>"
    assert carried("Work\nPaint 35", markdown, "Work\nPaint 36") == markdown.replace("35", "36")


def test_what_is_not_in_the_markdown_cannot_be_changed_there() -> None:
    """Nor can anything be put before the first word, or a text be replaced as a whole."""
    assert carried("one two three", "one two", "one two four") is None
    assert carried("one two", "# one two", "zero one two") is None
    assert carried("", "![](figure.png)", "a caption") is None


@pytest.mark.parametrize("text", ["", "   ", "x", "| - # *", "<b>", "\\", "a" * 5000, "# " * 500])
def test_any_text_gives_a_markdown_or_none(text: str) -> None:
    found = carried(TEXT, MARKDOWN, text)
    assert found is None or isinstance(found, str)


def test_an_unchanged_text_changes_nothing() -> None:
    assert carried(TEXT, MARKDOWN, TEXT) == MARKDOWN
