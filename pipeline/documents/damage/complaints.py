"""Finds out from MuPDF's warnings which parts of a page it could not use while drawing it. Runs in workers.

Where something is damaged MuPDF draws on and adds a warning to a list that it keeps for the process. An error that it
recovered from comes first ("library error: zlib error: ..."), often followed by the consequence ("padding truncated
image", "ignoring broken ICC profile"): that line tells whether anything visible is missing.

Source: fz_warn and fz_report_error in MuPDF 1.28; 3,220 pages of 720 manuals say nothing but harmless things.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

import pymupdf

from storage.strings.printable import one_line

Kind = Literal["picture", "font", "content"]

WORDS: dict[Kind, str] = {
    "picture": "a picture on the page cannot be decoded, or not all of it",
    "font": "a font of the page cannot be used, and letters may be missing or wrong",
    "content": "part of what the page draws cannot be used",
}
# Errors that end in one of these do not cause missing text.
_HARMLESS = re.compile(
    r"ignoring broken ICC|ICC colorspace N=|cannot create ICC link|falling back to fast color|ICC support"
    r"|cannot load ToUnicode|cannot create appearance stream|Ignoring (Page|XObject|invalid)|Attempt to read Output"
    r"|structure tree broken|Bad parent link|bogus font|PDF stream Length incorrect|gstate underflow|invalid marked"
)
# Syntax errors that affect colours and shades only, or that are about a word which is not a drawing operator.
_COLOUR = re.compile(
    r"cannot find (ExtGState|ColorSpace|Pattern|Shading|Properties) resource|unknown keyword"
)
_LOSSES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "picture",
        re.compile(
            r"padding truncated image|premature end of file in jpeg|unknown filter name|Stream does not end with EOC"
            r"|jbig2dec warning: failed to decode|premature end in lzw|type3 glyph"
        ),
    ),
    (
        "font",
        re.compile(
            r"ignored error when loading embedded font|FT_Load_Glyph|cannot render glyph|cannot decompose outline"
            r"|non-embedded font using identity encoding: [^(]*$|cannot draw text since font"
        ),
    ),
    (
        "content",
        re.compile(
            r"content stream is not a stream|cannot load content stream part|too many syntax errors"
            r"|Ignoring error during interpretation"
        ),
    ),
)
_ERROR = re.compile(r"(?!ignoring )(?:\w+ )*error: |read error; treating as end of file")
_PICTURE = re.compile(r"jpeg|jbig2|openjpeg|jpx|image|faxd|lzw|XObject", re.IGNORECASE)
_FONT = re.compile(r"\bFT_|font|glyph|cff|type1", re.IGNORECASE)
_MOST_WORDS = 200
CUT_FLATE = "premature end of data in flate filter"
SHORT_PICTURE = "padding truncated image"


def forget() -> None:
    """Drops MuPDF's warnings so far. Called before each page: they would count for it, and be kept for ever."""
    pymupdf.TOOLS.reset_mupdf_warnings()


def said() -> list[str]:
    """Returns MuPDF's warnings since `forget`, in order."""
    return [line for line in pymupdf.TOOLS.mupdf_warnings(reset=0).split("\n") if line]


def told(work: Callable[[], object]) -> list[str]:
    """Returns MuPDF's warnings while something is done, which may fail."""
    forget()
    with suppress(pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError):
        work()
    return said()


def losses(lines: Sequence[str]) -> dict[Kind, list[str]]:
    """Returns the kinds of loss with MuPDF's warnings about each; empty where no loss can hide text."""
    found: dict[Kind, list[str]] = {}
    errors: list[str] = []
    for line in lines:
        kind = next((kind for kind, pattern in _LOSSES if pattern.search(line)), None)
        if _HARMLESS.search(line):
            errors = []
        elif line.startswith("encountered syntax errors"):
            if _is_serious(errors):
                found.setdefault(_kind_of_error(errors), []).extend(errors)
            errors = []
        elif kind is not None:
            found.setdefault(kind, []).extend([*errors, line])
            errors = []
        elif _ERROR.match(line):
            errors.append(line)
    if _is_serious(errors):
        found.setdefault(_kind_of_error(errors), []).extend(errors)
    return found


def sentence(found: dict[Kind, list[str]]) -> str:
    """Returns a sentence that says what is missing, with MuPDF's warnings, each once; "" where nothing is."""
    what = ", and ".join(WORDS[kind] for kind in WORDS if kind in found)
    words = "; ".join(dict.fromkeys(line for kind in WORDS for line in found.get(kind, ())))
    shown = one_line(words)
    shown = shown if len(shown) <= _MOST_WORDS else f"{shown[:_MOST_WORDS]} ..."
    return f"{what} (MuPDF: {shown})" if shown else what


def suspicions(lines: Sequence[str]) -> list[str]:
    """Returns the warnings that are not known to be harmless: they may be why a page looks blank."""
    return [line for line in lines if not _HARMLESS.search(line) and not line.startswith("... repeated")]


def _is_serious(errors: Sequence[str]) -> bool:
    return any(not _COLOUR.search(error) for error in errors)


def _kind_of_error(errors: Sequence[str]) -> Kind:
    text = " ".join(errors)
    return "picture" if _PICTURE.search(text) else "font" if _FONT.search(text) else "content"
