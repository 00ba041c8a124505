"""What goes into the engine and what comes out."""

from dataclasses import dataclass

from encoders.types import VisionTokens
from ocr.character_head.second_opinion import SecondOpinion
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.speculative.draft import Draft
from ocr.types import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """One page to read. opinion: holds it to the length of what is seen. draft: guesses its text."""

    vision: VisionTokens
    settings: DecodeSettings
    opinion: SecondOpinion | None = None
    draft: Draft | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """index: which of the requests it was. num_steps: forwards that it took part in after its prefill.

    prefill_s, generate_s: its share of the wall seconds, by prompt tokens and by tokens fed.
    """

    index: int
    transcript: Transcript
    num_steps: int
    prefill_s: float
    generate_s: float
