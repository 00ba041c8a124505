"""Makes the draft of a page from all that is known of its text before it is read."""

from functools import lru_cache

from tokenizers import Tokenizer

from ocr.speculative.best import BestDraft, Candidate
from ocr.speculative.draft import Draft
from ocr.speculative.prompt_lookup import RepeatDraft
from ocr.speculative.text_draft import TextDraft
from ocr.transcript.token_bytes import token_bytes

# Initial worth: tokens accepted a step.
_LAYER, _REPEATS = 9.0, 0.5


@lru_cache(maxsize=2)
def drafts_for(tokenizer: Tokenizer) -> "PageDrafts":
    """Returns a model's maker of drafts, the same one for every batch, so that its tokens are looked up once."""
    return PageDrafts(tokenizer)


class PageDrafts:
    """Makes drafts for one model's pages."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._bytes = token_bytes(tokenizer)

    def of(self, text_layer: str | None) -> Draft:
        """Returns one page's draft. text_layer: the page's own text, None for an image or a page without.

        Without a text layer it proposes repetitions of the page's own text.
        """
        candidates = [Candidate(make=RepeatDraft, worth=_REPEATS)]
        if text_layer:
            candidates.append(Candidate(make=lambda: TextDraft(text_layer, self._bytes), worth=_LAYER))
        return BestDraft(candidates)
