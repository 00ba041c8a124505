"""Converts man pages to running text: pure functions over roff source."""

import re
import unicodedata

_ROFF_CHARACTERS = {
    "em": "—", "en": "–", "hy": "-", "aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "‘", "cq": "’",
    "bu": "•", "co": "©", "rg": "®", "tm": "™", "mu": "×", "di": "÷", "+-": "±", "de": "°", "Eu": "€",
    "Po": "£", "Ye": "¥", "sc": "§", "Fo": "«", "Fc": "»", "ha": "^", "ti": "~", "rs": "\\", "ga": "`",
    "->": "→", "<-": "←", "<=": "≤", ">=": "≥", "!=": "≠", "if": "∞", "ss": "ß", "AE": "Æ", "ae": "æ",
    "OE": "Œ", "oe": "œ", "/o": "ø", "/O": "Ø", "oa": "å", "oA": "Å", "lB": "[", "rB": "]", "ul": "_",
    "mc": "µ", "14": "¼", "12": "½", "34": "¾", "sl": "/", "at": "@", "sh": "#", "Do": "$", "or": "|",
}  # fmt: skip
_ROFF_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", ":": "\u0308", "~": "\u0303", ",": "\u0327"}


def man_paragraphs(source: str) -> list[str]:
    """Returns the running text of a man page (man macros): no headings, tables or unfilled lines.

    A page in mdoc macros returns an empty list: its macros cannot be read line by line.
    """
    if re.search(r"^\.Sh ", source, re.MULTILINE):
        return []
    paragraphs: list[str] = []
    lines: list[str] = []
    filled = True
    tag_follows = False
    for raw in source.splitlines():
        macro, argument = _macro(raw)
        if macro in ("nf", "EX", "TS", "de", "ig"):
            filled = False
        elif macro in ("fi", "EE", "TE", ".", "PP", "P", "LP", "SH", "SS"):
            filled = True
        if tag_follows and filled and macro in ("", "B", "I", "BR", "BI", "IR", "RB", "RI", "IB", "SM"):
            tag_follows = False
            continue
        if macro in ("B", "I", "BR", "BI", "IR", "RB", "RI", "IB", "SM", "SB") and filled:
            spaced = macro in ("B", "I", "SM", "SB")
            lines.append((" " if spaced else "").join(re.findall(r'"[^"]*"|\S+', argument)).replace('"', ""))
        elif macro:
            _close(paragraphs, lines)
            tag_follows = macro == "TP"
        elif not raw.strip():
            _close(paragraphs, lines)
        elif filled and not raw.startswith(("'\\\"", "'br", ".", " ", "\t")):
            lines.append(raw)
    _close(paragraphs, lines)
    return paragraphs


def _macro(line: str) -> tuple[str, str]:
    found = re.match(r"[.'][ \t]*(\\\"|[A-Za-z.]+)(?:[ \t]+(.*))?$", line)
    return (found[1], found[2] or "") if found else ("", "")


def _close(paragraphs: list[str], lines: list[str]) -> None:
    text = " ".join(roff_escapes(" ".join(lines)).split())
    if text:
        paragraphs.append(text)
    lines.clear()


def roff_escapes(text: str) -> str:
    """Returns `text` without roff escapes: fonts and sizes gone, special characters as Unicode."""
    text = re.sub(r"\\\".*", "", text)
    text = re.sub(r"\\f(\[[^]]*\]|\(..|.)|\\s[-+]?\d+|\\[&/,:%|^)!]|\\m\[[^]]*\]|\\k.", "", text)
    text = re.sub(r"\\\[u([0-9A-F]{4,5})\]", lambda m: chr(int(m[1], 16)), text)
    text = re.sub(r"\\\[(char)?(\d+)\]", lambda m: chr(int(m[2])), text)
    text = re.sub(r"\\\[(\S+?)\]|\\\((\S\S)", lambda m: _special(m[1] or m[2]), text)
    text = re.sub(r"\\\*(\[[^]]*\]|\(..|.)", lambda m: _special(m[1].strip("[(]")), text)
    text = text.replace("\\-", "-").replace("\\e", "\x00").replace("\\'", "'").replace("\\`", "`")
    text = re.sub(r"\\[ ~0]", " ", text)
    return re.sub(r"\\(.)", r"\1", text).replace("\x00", "\\").replace("\\\\", "\\")


def _special(name: str) -> str:
    if len(name) == 2 and name[0] in _ROFF_ACCENTS and name[1].isalpha():
        return unicodedata.normalize("NFC", name[1] + _ROFF_ACCENTS[name[0]])
    return _ROFF_CHARACTERS.get(name, "")
