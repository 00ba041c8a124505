"""The requests that a decoding engine takes, and the results that it returns."""

from dataclasses import dataclass

from encoders.types import VisionTokens
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.types import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """One page to read, or several pictures and videos in one prompt, of models that take them.

    beside: those that follow the first, in the prompt's order. prompt: in place of the model's own; it says `<image>`
    once, where all of them stand, once for each, or not at all to have them first.
    """

    vision: VisionTokens
    settings: DecodeSettings
    beside: tuple[VisionTokens, ...] = ()
    prompt: str | None = None

    @property
    def items(self) -> tuple[VisionTokens, ...]:
        """All pictures and videos of the prompt, in its order."""
        return self.vision, *self.beside

    @property
    def only(self) -> VisionTokens:
        """The picture of a model that takes one in a prompt, the model's own."""
        assert (self.beside, self.prompt) == ((), None), (
            "this model reads a page at a time, by its own prompt"
        )
        return self.vision


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """One page that was read, and what it took.

    index: the position of its request, from 0. prefill_s, generate_s: its share of the wall seconds.
    """

    index: int
    transcript: Transcript
    prefill_s: float
    generate_s: float
