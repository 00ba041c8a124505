"""Makes the draft of a page from all that is known of its text before it is read."""

from functools import lru_cache

from tokenizers import Tokenizer

from encoders.types import VisionTokens
from ocr.character_head.head_text import head_text
from ocr.speculative.best import BestDraft, Candidate
from ocr.speculative.draft import Draft
from ocr.speculative.prompt_lookup import RepeatDraft
from ocr.speculative.text_draft import TextDraft
from ocr.transcript.token_bytes import token_bytes

# Initial worth: tokens accepted a step. The head's is half of what it reaches, since a text layer that was wrong once
# is soon right again, and building the head's text takes some 10 ms.
_LAYER, _HEAD, _REPEATS = 9.0, 3.0, 0.5


@lru_cache(maxsize=2)
def drafts_for(tokenizer: Tokenizer, characters: str | None) -> "PageDrafts":
    """Returns a model's maker of drafts, the same one for every batch, so that its tokens are looked up once."""
    return PageDrafts(tokenizer, characters)


class PageDrafts:
    """Makes drafts for one model's pages.

    characters: the character head's classes (ocr.character_head.second_opinion.read_cells), None without a
    head.
    """

    def __init__(self, tokenizer: Tokenizer, characters: str | None) -> None:
        self._bytes = token_bytes(tokenizer)
        self._characters = characters

    def of(self, page: VisionTokens, text_layer: str | None) -> Draft:
        """Returns one page's draft. text_layer: the page's own text, None for an image or a page without.

        Without a text layer and a character head it proposes repetitions of the page's own text.
        """
        candidates = [Candidate(make=RepeatDraft, worth=_REPEATS)]
        if text_layer:
            candidates.append(Candidate(make=lambda: TextDraft(text_layer, self._bytes), worth=_LAYER))
        if page.cells_HW is not None and self._characters is not None:
            candidates.append(Candidate(make=lambda: self._of_head(page), worth=_HEAD))
        return BestDraft(candidates)

    def _of_head(self, page: VisionTokens) -> Draft:
        assert page.cells_HW is not None
        assert self._characters is not None
        return TextDraft(head_text(page.cells_HW.cpu().numpy(), self._characters), self._bytes)
