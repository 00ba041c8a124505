import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.decoders import DecodeStream

from ocr.errors import CheckpointError
from ocr.transcript import confidence
from ocr.transcript.confidence import (
    Calibration,
    Curve,
    TokenBytes,
    assess,
    probabilities,
)
from ocr.transcript.grounding import parse
from ocr.types import ParsedText, Transcript
from tests.ocr.tiny_reader import tokenizer

SURE, UNSURE = math.log(0.99), math.log(0.2)
TOKENIZER = tokenizer()
_MIXED = "Größe 北京 \U0001f600 naïve <td>x</td>\n ½ — end"


def reading(raw: str, logprobs: list[float], finish: str = "eos") -> tuple[ParsedText, Transcript]:
    ids = tuple(TOKENIZER.encode(raw).ids)
    assert len(ids) == len(logprobs)
    transcript = Transcript(raw=TOKENIZER.decode(ids), token_ids=ids, finish=finish, logprobs=tuple(logprobs))
    return parse(transcript.raw, width_px=100, height_px=100), transcript


def byte_level() -> Tokenizer:
    """Returns a tokenizer whose tokens are single bytes, pairs of two letters, and a tag."""
    letters = {letter: place for place, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE({**letters, "na": 256, "on": 257}, [("n", "a"), ("o", "n")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<td>", "</td>"])
    return made


def test_it_is_the_mean_probability() -> None:
    parsed, transcript = reading("w10 w11 w12", [SURE, SURE, UNSURE])
    rated, page = assess(parsed, transcript, TOKENIZER)
    assert page == pytest.approx((0.99 * 0.99 * 0.2) ** (1 / 3))
    assert [block.confidence for block in rated.blocks] == [page]
    assert rated.text == parsed.text


def test_a_page_without_tokens_has_none() -> None:
    parsed, transcript = reading("", [])
    assert assess(parsed, transcript, TOKENIZER) == (parsed, None)


def test_every_block_is_judged_by_its_own_tokens() -> None:
    parsed, transcript = reading("w10 w11 w12 w13", [SURE, SURE, UNSURE, UNSURE])
    split = transcript.raw.index(" w12")
    blocks = (
        parsed.blocks[0].__class__(label="text", text="w10 w11", raw_span=(0, split)),
        parsed.blocks[0].__class__(label="text", text="w12 w13", raw_span=(split, len(transcript.raw))),
        parsed.blocks[0].__class__(label="text", text="placeless"),
    )
    page, (first, second, third) = probabilities(
        ParsedText(text="", markdown="", blocks=blocks), transcript, TOKENIZER
    )
    assert (first, second) == (pytest.approx(0.99), pytest.approx(0.2))
    assert third == page == pytest.approx((0.99 * 0.2) ** 0.5)


def test_a_calibration_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "confidence.json"
    calibration = Calibration(
        page=Curve(bias=2.0, weights={"unsure": 1.0}), block=Curve(bias=1.0, weights={"page_unsure": 1.0})
    )
    path.write_text(json.dumps(calibration.to_json()))
    assert Calibration.read(path) == calibration
    assert calibration.page({"unsure": 0.5}) == pytest.approx(1 / (1 + math.exp(-1.5)))


@pytest.mark.parametrize("content", ["[]", "{}", '{"page": {"bias": "x", "weights": {}}}', "\0"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "confidence.json"
    path.write_text(content)
    with pytest.raises(CheckpointError, match=r"confidence\.json holds no calibration"):
        Calibration.read(path)


@pytest.mark.parametrize("text", [_MIXED, "none but ASCII <td>x</td>\n -- end", ""])
def test_the_lengths_of_tokens_are_those_of_decoding_them_one_by_one(text: str) -> None:
    tokenizer = byte_level()
    tokens = tokenizer.encode(text, add_special_tokens=False).ids
    stream = DecodeStream(skip_special_tokens=False)
    expected = [len(stream.step(tokenizer, token) or "") for token in tokens]
    assert confidence.token_lengths(tokens, tokenizer) == expected
    assert sum(expected) == len(tokenizer.decode(tokens, skip_special_tokens=False))
    assert (0 in expected) == (text == _MIXED), "some character is in several tokens"


def test_a_token_belongs_to_the_block_in_which_it_ends() -> None:
    parsed, transcript = reading("w10 w11 w12 w13", [SURE] * 4)
    ends = np.cumsum(confidence.token_lengths(transcript.token_ids, TOKENIZER))
    spans = [(0, 3), (0, 0), (2, 7), (7, 8), None, (9, 100), (5, 2)]
    for span in spans:
        block = replace(parsed.blocks[0], raw_span=span)
        owners = confidence._owners([block], transcript, TOKENIZER)
        wanted = [0 if span and span[0] < end <= span[1] else -1 for end in ends]
        assert owners.tolist() == wanted


def test_bytes_of_tokens_are_those_of_their_text() -> None:
    tokenizer = byte_level()
    known = TokenBytes(tokenizer)
    tokens = tokenizer.encode(_MIXED, add_special_tokens=False).ids
    assert b"".join(known[token] for token in tokens) == _MIXED.encode()
    assert known[tokenizer.token_to_id("<td>")] == b"<td>"
    assert known[10**6] == known[-1] == known[1 << 40] == b""
    every = {known[token] for token in range(tokenizer.get_vocab_size())}
    assert every >= {bytes([byte]) for byte in range(256)}
