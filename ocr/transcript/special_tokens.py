"""Finds the tokens in a model's output that its tokenizer marks as special: turns of a chat, pictures, padding."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from tokenizers import Tokenizer


def special_spans(
    raw: str, tokenizer: Tokenizer, is_markup: Callable[[str], object]
) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of each special token in the output, in order, but for those that are the format's markup.

    The output is text by now: a page on which such a token is printed loses it, as with skip_special_tokens.
    """
    pattern = _pattern(tokenizer)
    if pattern is not None:
        yield from (match.span() for match in pattern.finditer(raw) if not is_markup(match[0]))


@lru_cache(maxsize=2)
def _pattern(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    added = tokenizer.get_added_tokens_decoder().values()
    special = sorted({token.content for token in added if token.special and token.content}, reverse=True)
    return re.compile("|".join(map(re.escape, special))) if special else None
