"""Captures for tests without a GPU, and captures of any kind whose outputs hold poison until they are written."""

from collections.abc import Sequence
from typing import TypeVar

import torch

from encoders.graphs.capturing.capture import Capture as EagerCapture
from encoders.graphs.capturing.capture import Graph

__all__ = ["EagerCapture", "Winning", "poisoned"]

AnyCapture = TypeVar("AnyCapture", bound=EagerCapture)


def poisoned(capture: AnyCapture) -> AnyCapture:
    """The capture, which fills the outputs with nonsense before every replay."""
    replays = capture.replay

    def replay(graph: Graph) -> None:
        for output in graph.outputs.values():
            output.fill_(torch.nan if output.is_floating_point() else torch.iinfo(output.dtype).min)
        replays(graph)

    capture.replay = replay  # type: ignore[method-assign]
    return capture


class Winning(EagerCapture):
    """Every replay seems faster than eager, however busy the machine is. Outputs hold poison until they are written."""

    def __init__(self) -> None:
        super().__init__(torch.device("cpu"))
        poisoned(self)
        self._timed = 0

    def measure(self, run: object, repeats: int) -> float:
        """Sizes are timed eagerly first, then replayed."""
        self._timed += 1
        return 1.0 / self._timed

    def measure_in_turn(self, runs: Sequence[object], repeats: int) -> list[float]:
        return [self.measure(run, repeats) for run in runs]
