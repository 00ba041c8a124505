"""Greedy decoding without a model: how many of a draft's tokens a known text would take."""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from ocr.speculative.draft import Draft

LIMIT = 16
_TESTS = Path(__file__).parents[2]
TOKENIZER = Tokenizer.from_file(str(_TESTS.parent / "ocr" / "weights" / "small" / "tokenizer.json"))


def encode(text: str) -> list[int]:
    ids: list[int] = TOKENIZER.encode(text, add_special_tokens=False).ids
    return ids


def truth(name: str, page: int = 1) -> str:
    return (_TESTS / "truth" / name / f"{page}.txt").read_text("utf-8").strip()


def tokens_a_step(draft: Draft, text: str) -> float:
    """The text's tokens for each verified step, 1 without any that were guessed."""
    tokens = encode(text)
    written: list[int] = []
    steps = 0
    while len(written) < len(tokens):
        right = agreeing(draft.propose(written, LIMIT), tokens[len(written) :])
        written += tokens[len(written) : len(written) + right + 1]
        steps += 1
    return len(tokens) / max(1, steps)


def agreeing(proposed: Sequence[int], tokens: Sequence[int]) -> int:
    count = 0
    while count < min(len(proposed), len(tokens)) and proposed[count] == tokens[count]:
        count += 1
    return count
