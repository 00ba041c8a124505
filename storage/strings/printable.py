"""Makes untrusted text safe for a terminal, a log or a renderer of markdown, and masks the values of secret keys.

File names, page text, PDF metadata and parsers' messages may hold control characters, which a terminal obeys: they
move the cursor, rename the window, hide or reorder what was printed. Files and pipes get such text as it is; a screen
and a log get it with these characters escaped.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TextIO, cast

# C0 except tab and newline, DEL and C1; marks that reorder or hide text; Unicode's own line ends; lone surrogates.
_CONTROLS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f"
)
_IN_TEXT = re.compile(f"[{_CONTROLS}]")
_IN_A_LINE = re.compile(rf"[{_CONTROLS}\t\n]")


def one_line(text: str) -> str:
    r"""Returns the text as one line without control characters, which are written as escapes: \n, \x1b, \u202e."""
    return _IN_A_LINE.sub(_escaped, text)


def shown(text: str) -> str:
    """Returns the text, of one or more lines, with control characters escaped; newlines and tabs stay."""
    return _IN_TEXT.sub(_escaped, text)


def on_screen(stream: TextIO, *, always: bool = False) -> TextIO:
    """Returns the stream or, if it is a terminal, one that writes to it through `shown`.

    JSON stays valid: the escapes are JSON's own for all characters it may hold raw. always: whatever the stream is.
    """
    return cast("TextIO", _Screen(stream)) if always or stream.isatty() else stream


class _Screen:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(shown(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _escaped(match: re.Match[str]) -> str:
    letter = match[0]
    return repr(letter)[1:-1] if letter < " " else json.dumps(letter)[1:-1]


MASK = "***"
# The last word of a key decides: hf_token and api_key are secrets, max_tokens is not.
_SECRET_WORDS = frozenset(
    {"token", "password", "passwd", "passphrase", "secret", "secrets", "key", "credential", "credentials"}
)
_URL_USER = re.compile(r"(?<=://)[^/@\s]+@")


def mask_secrets(value: object, key: str = "") -> object:
    """Returns a copy of JSON values: values of secret keys, and user:password in URLs, replaced by ***."""
    if isinstance(value, Mapping):
        return {str(name): mask_secrets(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [mask_secrets(inner, key) for inner in value]
    if value is not None and re.split(r"[^a-z]+", key.lower())[-1] in _SECRET_WORDS:
        return MASK
    return _URL_USER.sub(f"{MASK}@", value) if isinstance(value, str) else value
