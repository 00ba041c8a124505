"""Reads the entities of XML and HTML."""

import html
import re

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#x[0-9A-Fa-f]{1,6});")


def unescaped(text: str) -> str:
    """Returns text with characters for entities. An ampersand that begins none of them, as in AT&T, stays."""
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)
