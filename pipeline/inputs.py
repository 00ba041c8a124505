"""The run's inputs as they are taken, and how many are left when it ends early."""

import time
from collections.abc import Iterator

from pipeline.walk import Candidate, Found


class Inputs:
    """An iterator over what the walk finds. num_taken: inputs that were handed out."""

    def __init__(self, found: Iterator[Found]) -> None:
        self._found = found
        self.num_taken = 0

    def __iter__(self) -> "Inputs":
        return self

    def __next__(self) -> Found:
        found = next(self._found)
        self.num_taken += 1
        return found

    def count_rest(self, limit_s: float) -> tuple[int, bool]:
        """Returns how many files nobody took, and whether these are all: the walk goes on for limit_s seconds."""
        end = time.monotonic() + limit_s
        num_files = 0
        for found in self._found:
            num_files += isinstance(found, Candidate)
            if time.monotonic() > end:
                return num_files, False
        return num_files, True
