"""Estimates how much of a page, and of each of its blocks, is right.

A page model's confidence is the geometric mean of the tokens' probabilities, which says little about text that was left
out or invented. The line reader's (ocr.line_reader.line_confidence) is the expected share of right characters by a
calibration: a logistic model of signals of its own doubt, each of which can only lower it.
"""

import json
import math
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel, DecodeStream

from ocr.errors import CheckpointError
from ocr.types import Block, ParsedText, Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Confidence = logistic(bias - sum of weight * feature); weights are never negative."""

    bias: float
    weights: Mapping[str, float]

    def __call__(self, features: Mapping[str, float]) -> float:
        score = self.bias - sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-score)) if score > -500 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The curves of one reader's weights, over its features of a page and of a block."""

    page: Curve
    block: Curve

    @classmethod
    def read(cls, path: Path) -> "Calibration":
        """Returns the calibration in a confidence.json.

        Raises: CheckpointError for a file that holds something else.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(page=_curve(data["page"]), block=_curve(data["block"]))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise CheckpointError(
                f"{path} holds no calibration ({type(error).__name__}: {error}); fetch it again, or "
                "delete it to do without"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Returns the content of a confidence.json, which read() reads back."""
        return asdict(self)


def assess(
    parsed: ParsedText,
    transcript: Transcript,
    tokenizer: Tokenizer,
) -> tuple[ParsedText, float | None]:
    """Returns the text with each block's confidence, and the page's; None for a page without tokens."""
    if not transcript.logprobs:
        return parsed, None
    whole, confidences = probabilities(parsed, transcript, tokenizer)
    rated = tuple(
        replace(block, confidence=value) for block, value in zip(parsed.blocks, confidences, strict=True)
    )
    return replace(parsed, blocks=rated), whole


def probabilities(
    parsed: ParsedText, transcript: Transcript, tokenizer: Tokenizer
) -> tuple[float, list[float]]:
    """Returns the mean probability of the page's tokens and of each block's. The transcript must have tokens.

    Coordinates and tags of regions are left out. A block without a known place in the output has the page's.
    """
    logprobs = np.asarray(transcript.logprobs)
    owners = _owners(parsed.blocks, transcript, tokenizer)
    page = _mean(logprobs[owners >= 0] if (owners >= 0).any() else logprobs)
    own = [logprobs[owners == index] for index in range(len(parsed.blocks))]
    return page, [_mean(part) if len(part) else page for part in own]


def _owners(blocks: Sequence[Block], transcript: Transcript, tokenizer: Tokenizer) -> npt.NDArray[np.int64]:
    """Returns for each token with a log probability the index of its block, -1 for none."""
    ends = np.cumsum(token_lengths(transcript.token_ids[: len(transcript.logprobs)], tokenizer))
    owners = np.full(len(ends), -1)
    for index, block in enumerate(blocks):
        if block.raw_span is not None:
            first, last = np.searchsorted(ends, block.raw_span, "right")
            owners[first:last] = index
    return owners


@lru_cache(maxsize=1)
def _byte_of() -> dict[str, int]:
    """Returns the byte that each character of a byte-level vocabulary stands for. Source: openai/gpt-2, encoder.py."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + nth): byte for nth, byte in enumerate(others)}


class TokenBytes(dict[int, bytes]):
    """The bytes of a byte-level BPE's tokens, each looked up once; none for an id that is no token.

    That is faster than decoding, and exact for parts of characters.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        added = (
            tokenizer.get_added_tokens_decoder()
        )  # tags and the end of the text: none is printed on the page
        super().__init__({token: tag.content.encode() for token, tag in added.items()})
        self._tokenizer = tokenizer

    def __missing__(self, token: int) -> bytes:
        letters = (self._tokenizer.id_to_token(token) if 0 <= token < 1 << 31 else None) or ""
        byte_of = _byte_of()
        try:
            found = bytes([byte_of[letter] for letter in letters])
        except KeyError:  # not of a byte-level vocabulary
            found = letters.encode()
        self[token] = found
        return found


_token_bytes = lru_cache(maxsize=2)(TokenBytes)  # the same for every page of a model


def token_lengths(tokens: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """Returns how many characters each token adds to the text; one split over several tokens counts for the last."""
    if isinstance(tokenizer.decoder, ByteLevel):
        bytes_of = _token_bytes(tokenizer)
        pieces = [bytes_of[token] for token in tokens]
        if all(map(bytes.isascii, pieces)):
            return list(map(len, pieces))
        decoder = getincrementaldecoder("utf-8")("replace")
        return [len(decoder.decode(piece)) for piece in pieces]
    stream = DecodeStream(skip_special_tokens=False)  # 15 us a token
    return [len(stream.step(tokenizer, token) or "") for token in tokens]


def _mean(logprobs: npt.NDArray[np.float64]) -> float:
    return math.exp(logprobs.mean())


def _curve(data: Mapping[str, Any]) -> Curve:
    weights = {str(name): float(weight) for name, weight in data["weights"].items()}
    return Curve(bias=float(data["bias"]), weights=weights)
