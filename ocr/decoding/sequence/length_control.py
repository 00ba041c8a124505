"""Holds one page's reading to the length of the text that the character head sees on the page.

A model that stops after four of five paragraphs is sure of itself, and so is one that invents; the head,
which only counts, notices both. An end that comes too early is refused: the model goes on with its next choice,
which usually is the text it left out. What it then writes is kept only if the head sees it too.
"""

from collections.abc import Sequence

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel

from ocr.character_head.second_opinion import SecondOpinion, marks, visible
from ocr.decoding.sequence.loops import CHECK_EVERY
from ocr.transcript.token_bytes import token_bytes

# A head that is right counts within a few percent, or on short pages within a few marks.
_SLACK_SHORT, _SLACK_LONG = 10, 100
_MIN_FOUND = 0.25


class LengthControl:
    """Compares one page's tokens with the second opinion's count; without an opinion it lets everything pass.

    min_share, max_share: limits as shares of the marks that the opinion sees; 0 switches that limit off.
    """

    def __init__(
        self, tokenizer: Tokenizer, opinion: SecondOpinion | None, *, min_share: float, max_share: float
    ) -> None:
        self._tokenizer = tokenizer
        self._opinion = opinion
        num_seen = 0 if opinion is None else opinion.num_marks
        self._least = int(min_share * num_seen) - _SLACK_SHORT
        self._most = None if opinion is None or not max_share else int(max_share * num_seen) + _SLACK_LONG
        self._refused_at: int | None = None
        self._last_refusal = 0
        self._counted = self._num_bytes = 0

    def refuses_end(self, tokens: Sequence[int]) -> bool:
        """Returns whether a page that ends after these tokens leaves out too much.

        After the first refusal the model may write as many further tokens as marks were missing at that point.
        """
        if self._least <= 0 or (self._refused_at is not None and len(tokens) >= self._last_refusal):
            return False
        missing = self._least - self._num_marks(tokens)
        if missing <= 0:
            return False
        if self._refused_at is None:
            self._refused_at, self._last_refusal = len(tokens), len(tokens) + missing
        return True

    def is_over(self, tokens: Sequence[int]) -> bool:
        """Returns whether more is written than can be on the page; checks only every 32nd length.

        White space and tags are no marks, yet no honest page needs two tokens for every mark that it may have.
        """
        if self._most is None or len(tokens) % CHECK_EVERY:
            return False
        if len(tokens) > 2 * self._most:
            return True
        return self._may_exceed(tokens, self._most) and self._num_marks(tokens) > self._most

    def _may_exceed(self, tokens: Sequence[int], most: int) -> bool:
        """Returns False where these tokens have at most this many bytes, and so marks.

        Counting bytes is far cheaper.
        """
        if not isinstance(self._tokenizer.decoder, ByteLevel):
            return True
        self._num_bytes += token_bytes(self._tokenizer).num_bytes(tokens[self._counted :])
        self._counted = len(tokens)
        return self._num_bytes > most

    def refused_end(self, tokens: Sequence[int]) -> int | None:
        """Returns where to end after all: at the first refused end, if what follows it is not on the page.

        Else None.
        """
        start = self._refused_at
        if self._opinion is None or start is None or start >= len(tokens):
            return None
        found = self._opinion.found(self._text(tokens[start:]))
        return None if found is not None and found >= _MIN_FOUND else start

    def _num_marks(self, tokens: Sequence[int]) -> int:
        return len(marks(self._text(tokens)))

    def _text(self, tokens: Sequence[int]) -> str:
        return visible(self._tokenizer.decode(list(tokens), skip_special_tokens=False))
