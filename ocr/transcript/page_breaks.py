"""Several pages in one answer: how that is asked for, and how it is told apart again."""

import re
from dataclasses import replace

import numpy as np
from tokenizers import Tokenizer

from ocr.transcript.confidence import token_lengths
from ocr.types import Transcript

# As Unlimited-OCR, which was trained on several pages, writes it. Source: transformers, processing_unlimited_ocr.py.
BREAK = "<PAGE>"
# What may stand before the first break: nothing, or the beginning of a fence around the whole answer.
_FENCE = "```"
_HEAD = re.compile(rf"(?:{_FENCE}[a-z]*)?")


def asked_together(prompt: str, num_pages: int) -> str:
    """Returns the prompt for so many pages by that for one, of a model that has none of its own for them."""
    return (
        f"{prompt}\n\nThe pictures are {num_pages} pages of one document, in their order. Do this for each of them in "
        f"turn, and write {BREAK} on a line of its own before each page. A table that goes on over the end of "
        "a page begins again on the next one, with its header."
    )


def told_apart(transcript: Transcript, num_pages: int, tokenizer: Tokenizer) -> tuple[Transcript, ...] | None:
    """Returns each page's own transcript, of an answer with a break before or between the pages.

    A token that is partly of a break counts for the text beside it. None where the answer did not reach its end, or has
    not exactly so many texts.
    """
    raw, edges = transcript.raw, [0]
    for match in re.finditer(re.escape(BREAK), raw):
        edges += match.span()
    edges.append(len(raw))
    spans = list(zip(edges[::2], edges[1::2], strict=True))
    texts = [raw[start:end].strip() for start, end in spans]
    if len(texts) > 1 and _HEAD.fullmatch(texts[0]):
        if texts[0]:
            texts[-1] = texts[-1].removesuffix(_FENCE).strip()
        del spans[0], texts[0]
    if transcript.finish != "eos" or len(texts) != num_pages or not all(texts):
        return None
    ends = np.cumsum(token_lengths(transcript.token_ids, tokenizer))
    apart = []
    for (start, _), text in zip(spans, texts, strict=True):
        start = raw.index(text, start)
        first = np.searchsorted(ends, start, "right")
        last = np.searchsorted(ends, start + len(text), "left") + 1
        apart.append(
            replace(
                transcript,
                raw=text,
                token_ids=transcript.token_ids[first:last],
                logprobs=transcript.logprobs[first:last],
            )
        )
    return tuple(apart)
