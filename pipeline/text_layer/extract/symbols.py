"""Says what the characters of symbol fonts mean, and of TeX's fonts whose names are lost. Torch-free.

MuPDF knows characters by the names of their glyphs. Fonts of symbols come without: then it gives the code, as it is or
in the private use area, or U+FFFD. Of fonts that are known by name, and of TeX's encodings, the code says enough.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

UNKNOWN = "\ufffd"


def _from(**starts: str) -> Mapping[int, str]:
    """Returns a table from codes to characters. starts: x and the first code in hexadecimal -> the characters."""
    table = {int(start[1:], 16) + n: text for start, line in starts.items() for n, text in enumerate(line)}
    return {code: text for code, text in table.items() if text != "\0"}


_WINGDINGS = _from(
    x21="🖉✂✁👓🕭🕮🕯🕿✆🖂🖃📪📫📬📭📁📂📄🗏🗐🗄⌛🖮🖰🖲🖳🖴🖫🖬✇✍🖎✌👌👍👎☜☞☝☟🖐☺😐☹💣☠🏳🏱✈☼💧❄🕆✞🕈✠✡☪☯ॐ☸♈♉♊♋♌♍♎♏♐♑♒♓🙰🙵",
    x6c="●🔾■□🞐❑❒⬧⧫◆❖⬥⌧⮹⌘🏵🏶🙶🙷",
    x80="⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿",
    x9e="·•", xa1="○", xa7="▪□", xaa="✦★✶✴✹✵", xb5="✪✰🕐🕑🕒🕓🕔🕕🕖🕗🕘🕙🕚🕛",
    xd5="⌫⌦", xd8="➢", xdf="←→↑↓↖↗↙↘", xe8="➔", xef="⇦⇨⇧⇩⬄⇳", xfb="✗✔☒☑",
)  # fmt: skip
_WINGDINGS_2 = _from(x4f="✗✓☒☑☒", x97="•●", xa0="▪", xa2="■□")
_WINGDINGS_3 = _from(x66="←→↑↓", x70="▲▼△▽◀▶◁▷◣◢◤◥◂▸")
_SYMBOL = _from(
    x21="!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    xa0="€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\0⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
)
_DINGBATS = {
    **{code: chr(0x2701 + code - 0x21) for code in range(0x21, 0x7F)},
    **_from(x25="☎", x2a="☛☞", x48="★", x6c="●", x6e="■", x73="▲▼◆", x77="◗"),
}
_AWESOME = _from(
    x00c="✓✗", x004="♥★☆", x015="⌂", x041="📍", x046="☑", x05a="ℹ", x060="←→↑↓", x071="⚠", x073="📅", x095="☎☐",
    x0c1="🔗", x0c8="■", x0da="▸", x0e0="✉", x105="›", x10c="○", x111="●", x14a="☑",
)  # fmt: skip
# TeX's: symbols (cmsy), and large ones (cmex), whose glyphs have names that only TeX knows.
_CMSY = _from(
    x00="−·×∗÷⋄±∓⊕⊖⊗⊘⊙◯◦•≍≡⊆⊇≤≥⪯⪰∼≈⊂⊃≪≫≺≻←→↑↓↔↗↘≃⇐⇒⇑⇓⇔↖↙∝′∞∈∋△▽\0\0∀∃¬∅ℜℑ⊤⊥ℵ",
    x5b="∪∩⊎∧∨⊢⊣⌊⌋⌈⌉{}⟨⟩|∥↕⇕\\≀√⨿∇∫⊔⊓⊑⊒§†‡¶♣♢♡♠",
)  # fmt: skip
_CMEX = _from(
    x00="()[]⌊⌋⌈⌉{}⟨⟩|∥/\\()()[]⌊⌋⌈⌉{}⟨⟩/\\()[]⌊⌋⌈⌉{}⟨⟩/\\/\\⎛⎞⎡⎤⎣⎦⎢⎥⎧⎫⎩⎭⎨⎬⎪⏐⎝⎠⎜⎟⟨⟩⊔⊔∮∮⊙⊙⊕⊕⊗⊗",
    x50="∑∏∫⋃⋂⊎⋀⋁∑∏∫⋃⋂⊎⋀⋁∐∐", x68="[]⌊⌋⌈⌉{}√√√√√",
)  # fmt: skip
# Name, which characters are codes besides private ones, what they mean.
_FONTS: Sequence[tuple[re.Pattern[str], re.Pattern[str], Mapping[int, str]]] = tuple(
    (re.compile(name, re.IGNORECASE), re.compile(codes), table)
    for name, codes, table in (
        ("wingdings ?-?2", r"[\x00-\x1f!-\xff]", _WINGDINGS_2),
        ("wingdings ?-?3", r"[\x00-\x1f!-\xff]", _WINGDINGS_3),
        ("wingdings", r"[\x00-\x1f!-\xff]", _WINGDINGS),
        (r"symbol(mt|ps|neu)?\b", "[A-Za-z·]", _SYMBOL),
        ("(zapf)?dingbats", "[!-~]", _DINGBATS),
        ("fontawesome", r"(?!)", _AWESOME),
        ("cmb?sy|lmmathsymbols", r"[\x00-\x1f]", _CMSY),
        ("cmex|lmmathextension", r"[\x00-\x1f]", _CMEX),
    )
)
# Parts of brackets, which Adobe's fonts have in the private use area.
_PIECES = {0xF8E5 + n: text for n, text in enumerate("‾⏐⎯®©™⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪⎮⎞⎟⎠⎤⎥⎦⎫⎬⎭")}
# TeX's text encodings in fonts of bitmaps, which have no names: OT1, T1 and its symbols.
_OT1 = _from(x0b="ﬀﬁﬂﬃﬄıȷ`´ˇ˘¯˚¸ßæœøÆŒØ", x7f="¨")
_T1 = _from(x10="“”„«»–—", x19="ıȷﬀﬁﬂﬃﬄ", x80="ĂĄĆČĎĚĘĞĹĽŁŃŇŊŐŔŘŚŠŞŤŢŰŮŸŹŽŻĲİđ§")
_TS1 = _from(x84="†‡∥‰•")
_LOST_NAME = re.compile(r"([A-Z][a-z]?\d+|Unnamed.*)$")
_PRIVATE = 0xF000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_IN_DOUBT = re.compile(r"[\x00-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd]")


def understand(spans: Iterable[Any], codes: Callable[[], Mapping[Any, str]]) -> None:
    """Replaces characters of MuPDF's spans by what they mean, where that is known.

    spans: with "chars". codes: gives the codes of characters that map to none by their boxes; called only if needed.
    """
    by_font: defaultdict[str, list[Any]] = defaultdict(list)
    for span in spans:
        is_known = _known(span["font"]) is not None
        if is_known or _IN_DOUBT.search("".join(char["c"] for char in span["chars"])):
            by_font[span["font"]] += span["chars"]
    for font, chars in by_font.items():
        known = _known(font)
        texts = {char["c"] for char in chars}
        lost = _decoded(texts) if known is None and _LOST_NAME.match(font) else {}
        for char in chars:
            text = char["c"]
            if known is not None and text == UNKNOWN:
                char["c"] = known[1].get(ord(codes().get(tuple(char["bbox"]), UNKNOWN)), UNKNOWN)
            elif ord(text) in _PIECES:
                char["c"] = _PIECES[ord(text)]
            elif known is not None:
                char["c"] = _meant(text, *known)
            else:
                char["c"] = lost.get(text, text)


def is_symbols(font: str) -> bool:
    """Returns whether a typeface of that name has symbols instead of letters."""
    return _known(font) is not None


@cache
def _known(font: str) -> tuple[re.Pattern[str], Mapping[int, str]] | None:
    """Returns which characters of a symbol font are codes, and what codes mean; None for another font."""
    return next(((codes, table) for name, codes, table in _FONTS if name.match(font)), None)


def _meant(text: str, codes: re.Pattern[str], table: Mapping[int, str]) -> str:
    if "\uf000" <= text <= "\uf2ff":
        return table.get(ord(text) - _PRIVATE, UNKNOWN)
    return table.get(ord(text), UNKNOWN) if codes.match(text) else text


def _decoded(texts: set[str]) -> Mapping[str, str]:
    """Returns what the control characters of a font mean in the TeX encoding that has them all; {} where none has.

    texts: all that the font has on the page.
    """
    numbers = {ord(text) for text in texts if _CONTROL.match(text)}
    tables = (_T1, _OT1) if any(map(str.isalpha, texts)) else (_TS1,)
    found: Mapping[int, str] = next((table for table in tables if numbers <= table.keys()), {})
    return {chr(number): found[number] for number in numbers if found}
