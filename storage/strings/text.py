"""Converts text to a form SQLite can hold: file names need not be UTF-8, and Python keeps the rest as surrogates."""

import hashlib
import re

_ESCAPED_BYTE = re.compile(r"\\udc(5c|[89a-f][0-9a-f])")
_AS_IF_ESCAPED = re.compile(r"\\(?=udc[0-9a-f]{2})")


def storable(text: str) -> str:
    r"""Returns the text itself, or, where it is not valid Unicode, with lone surrogates written \udcXX."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def stored_path(path: str) -> str:
    r"""Returns the path's storable form, one for each path: a backslash that would be taken for an escape is \udc5c."""
    return storable(_AS_IF_ESCAPED.sub(r"\\udc5c", path))


def real_path(stored: str) -> str:
    r"""Returns the path that is stored so, reading \udcXX as the byte XX of its name."""
    return _ESCAPED_BYTE.sub(
        lambda match: "\\" if match[1] == "5c" else chr(0xDC00 + int(match[1], 16)), stored
    )


def text_sha256(text: str) -> str:
    """Returns the hash that the ledger keeps of a page's text: sha256 of its UTF-8, hex."""
    return hashlib.sha256(text.encode()).hexdigest()
