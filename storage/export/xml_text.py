"""What of a page's text XML can hold, and what files of it say of their maker."""

import re
from importlib.metadata import PackageNotFoundError, version

# XML 1.0 has no way to write these.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """Returns the text with U+FFFD for every character that XML cannot hold."""
    return _UNWRITABLE.sub("\ufffd", text)


def program() -> str:
    """Returns this program's version; "unknown" where it is not installed."""
    try:
        return version("ocrbatch")
    except PackageNotFoundError:
        return "unknown"
