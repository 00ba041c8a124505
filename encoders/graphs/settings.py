"""How the graph manager may work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from encoders.graphs.errors import GraphSettingsError

Budgets = Sequence[int] | Literal["auto"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSettings:
    """Raises GraphSettingsError for values that cannot be meant.

    graphs: "auto" captures on a device that can; "off" runs everything eagerly.
    budgets: tokens of the graphs, a list for each path by its name. "auto" instead of a list, or of the whole,
        chooses from the sizes observed; None, or no entry, makes sizes that double.
    max_items: units in a batch at most. max_graphs: graphs a path and axis at most where sizes are chosen.
    memory_limit: bytes for graphs and their buffers, None for no limit. Two slots for staged input, each of the
        largest batch's, come on top.
    parity_every: every so many replays one is compared with eager; 0 never.
    parity_tolerance: largest relative difference (L2), or share of differing integers.
    repeats: timed runs of which the median counts.
    capture_after: sizes that are not listed are captured by capture_due() alone, each once so many batches came that
        it is the smallest for; None: by warm_up() alone.
    due_tokens: the largest size so captured. Above 4 views of 1024 px, or 16 of 640 px, an H200 computes for longer
        than the host takes to launch.
    """

    graphs: Literal["auto", "off"] = "auto"
    budgets: Mapping[str, Budgets] | Literal["auto"] | None = None
    max_items: int = 32
    max_graphs: int = 8
    memory_limit: int | None = None
    parity_every: int = 1000
    parity_tolerance: float = 0.05
    repeats: int = 5
    capture_after: int | None = None
    due_tokens: int = 1600

    def budgets_of(self, path: str) -> Budgets:
        """The path's list, "auto", or None."""
        return self.budgets.get(path) if isinstance(self.budgets, Mapping) else self.budgets

    def __post_init__(self) -> None:
        if self.graphs not in ("auto", "off"):
            raise GraphSettingsError(f"graphs is {self.graphs!r}: set it to auto or off")
        if isinstance(self.budgets, str) and self.budgets != "auto":
            raise GraphSettingsError(f"budgets is {self.budgets!r}: give a list for each path, or auto")
        for name in ("max_items", "max_graphs", "repeats"):
            if getattr(self, name) < 1:
                raise GraphSettingsError(f"{name} is {getattr(self, name)}: it must be at least 1")
        if self.capture_after is not None and self.capture_after < 1:
            raise GraphSettingsError(f"capture_after is {self.capture_after}: it must be at least 1, or none")
        if self.memory_limit is not None and self.memory_limit < 1:
            raise GraphSettingsError(
                f"memory_limit is {self.memory_limit} bytes: give a positive number, or none for no limit"
            )
        if self.parity_every < 0 or not 0 <= self.parity_tolerance < 1:
            raise GraphSettingsError(
                f"parity_every is {self.parity_every}, parity_tolerance {self.parity_tolerance}: "
                "they must be at least 0, and the tolerance below 1"
            )
