import pytest

from ocr.layout.localize import printed_text


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("a plain line - with: dashes --- and $1_000", "a plain line - with: dashes --- and $1_000"),
        ("# Heading", " Heading"),
        ("| a | b |", "  a   b  "),
        ("|---|:---:|", " "),
        ("---|---|", " "),
        ("```python\nx = 1\n```", " \nx = 1\n "),
        ("**bold** <td>cell</td>", " bold   cell "),
        ("a < b, C# and `x`, 2 * 3", "a < b, C# and `x`, 2 * 3"),
    ],
)
def test_notation_is_left_out_and_nothing_else(text: str, drawn: str) -> None:
    assert printed_text.as_drawn(text) == drawn == printed_text._NOTATION.sub(" ", text)
