"""Disorder that parsers must withstand: output that is broken, cut off, or made to be slow."""

from hypothesis import strategies as st

from ocr.types import ParsedText

WORDS = st.text(st.characters(categories=("Ll", "Nd"), max_codepoint=0x24F), min_size=1, max_size=6).map(
    lambda word: f" q{word}q "
)


def num_lost(raw: str, words: list[str], parsed: ParsedText) -> list[str]:
    """Returns the words that occur less often in the text, in the markdown or in the blocks than in the output."""
    blocks = "\n".join(block.text for block in parsed.blocks)
    return [
        word
        for word in map(str.strip, words)
        if min(its.count(word) for its in (parsed.text, parsed.markdown, blocks)) < raw.count(word)
    ]
