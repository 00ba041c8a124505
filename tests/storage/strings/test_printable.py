"""Foreign text cannot command a terminal, and is unchanged where nothing is dangerous."""

import io
import json

import pytest

from storage.strings.printable import on_screen, one_line, shown


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\tc\x1b.pdf", "a\\nb\\tc\\x1b.pdf"),
        ("\x1b]0;title\x07\x1b[2J", "\\x1b]0;title\\x07\\x1b[2J"),
        ("\x9b31m \x7f\x85", "\\u009b31m \\u007f\\u0085"),
        ("invoice\u202efdp.exe\u2066", "invoice\\u202efdp.exe\\u2066"),
        ("\u2028\u2029\r", "\\u2028\\u2029\\r"),
        ("\udcff.pdf", "\\udcff.pdf"),
        ("\U000e0041", "\\udb40\\udc41"),
    ],
)
def test_controls_are_escapes(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    "text", ["naïve 漢字.pdf", "a\u00a0b\u3000c", "שלום", "👩\u200d🔬", "100 % {0} %s", "\\n"]
)
def test_what_is_harmless_stays(text: str) -> None:
    assert one_line(text) == shown(text) == text


def test_lines_stay_lines_in_a_text() -> None:
    assert shown("a\n\tb\r\n\x1b[1m") == "a\n\tb\\r\n\\x1b[1m"


def test_json_on_a_screen_stays_json() -> None:
    stream = io.StringIO()
    value = {"text": "".join(map(chr, range(0x2070))) + "\udcff\U000e0001é"}
    print(json.dumps(value, ensure_ascii=False), file=on_screen(stream, always=True))
    assert json.loads(stream.getvalue()) == value
    assert not set(stream.getvalue()) & set("\x1b\x7f\x9b\u202e")


def test_a_file_is_written_to_as_it_is() -> None:
    stream = io.StringIO()
    assert on_screen(stream) is stream
