"""Drafts for tests: one that knows the text and errs at times, one that knows nothing."""

import random
from collections.abc import Sequence


class Knowing:
    """Proposes the true text; each token is wrong with the given probability."""

    def __init__(self, text: Sequence[int], errors: float = 0.0, num_ids: int = 64) -> None:
        self._text, self._errors, self._num_ids = list(text), errors, num_ids
        self._random = random.Random(0)

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        ahead = self._text[len(tokens) : len(tokens) + limit]
        return [
            self._random.randrange(self._num_ids) if self._random.random() < self._errors else token
            for token in ahead
        ]


class Malicious:
    """Random ids, some of no token, in random number, more than was asked for."""

    def __init__(self, seed: int = 0, num_ids: int = 64) -> None:
        self._random, self._num_ids = random.Random(seed), num_ids

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        return [self._random.randint(-1, self._num_ids) for _ in range(self._random.randrange(2 * limit + 1))]
