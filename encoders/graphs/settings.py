"""Settings of the graph manager."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Budgets = Sequence[int] | Literal["auto"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSettings:
    """Settings of the graph manager, as configurations and commands have checked them.

    graphs: "auto" captures on a device that can, and replays what was measured to be faster than eager; "on" captures
        all sizes of an axis before its first batch, and replays whatever fits, without timing it; "off" runs everything
        eagerly.
    budgets: tokens of the graphs, a list for each path by its name. "auto" in place of one list, or of all of them,
        chooses from the sizes observed; None, or no entry, generates sizes that double.
    max_items: most units in a batch. max_frames: most frames of videos in one, which their graphs have room for.
    max_graphs: most graphs for a path and axis where sizes are chosen.
    memory_limit: bytes for graphs and their buffers, None for no limit. Two slots for staged input, each as large as
        the largest batch, come on top.
    parity_every: one replay in this many is compared with eager; 0 for none.
    parity_tolerance: largest relative difference (L2) allowed, or share of integers that differ.
    repeats: number of timed runs; the median counts.
    capture_after: with "auto", sizes that are not listed are captured only in capture_due(), each once this many
        batches came that it is the smallest size for; None: only in warm_up().
    due_tokens: the largest size captured that way, for each rank. Above 4 views of 1024 px, or 16 of 640 px, an H200
        computes for longer than the host takes to launch.
    ranks: devices that the units are shared out over. One interpreter launches for all of them.
    """

    graphs: Literal["auto", "on", "off"] = "auto"
    budgets: Mapping[str, Budgets] | Literal["auto"] | None = None
    max_items: int = 32
    max_frames: int = 64
    max_graphs: int = 8
    memory_limit: int | None = None
    parity_every: int = 1000
    parity_tolerance: float = 0.05
    repeats: int = 5
    capture_after: int | None = None
    due_tokens: int = 1600
    ranks: int = 1

    def budgets_of(self, path: str) -> Budgets:
        """Returns the path's list, "auto", or None."""
        return self.budgets.get(path) if isinstance(self.budgets, Mapping) else self.budgets
