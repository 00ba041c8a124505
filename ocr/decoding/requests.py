"""The requests that a decoding engine takes, and the results that it returns."""

from dataclasses import dataclass

from encoders.types import VisionTokens
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.types import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """One page to read."""

    vision: VisionTokens
    settings: DecodeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """One page that was read, and what it took.

    index: the position of its request, from 0. num_steps: the forward passes that it took part in after its prefill.
    prefill_s, generate_s: its share of the wall seconds.
    """

    index: int
    transcript: Transcript
    num_steps: int
    prefill_s: float
    generate_s: float
