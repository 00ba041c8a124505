"""Measured latencies of one path and axis, which decide when a graph is used."""

from bisect import bisect_left
from dataclasses import dataclass, field


@dataclass(slots=True)
class Latencies:
    """Seconds by number of tokens: of a replay of each captured size, and of eager runs of sizes between.

    Infinite for sizes that do not fit into memory; sizes between one and the next that was measured count as not
    fitting. margin: how many times as fast a replay must have been, as measurements vary and batches cost the host
    something.
    """

    margin: float = 1.0
    replay: dict[int, float] = field(default_factory=dict)
    eager: dict[int, float] = field(default_factory=dict)

    def eager_at(self, tokens: int) -> float:
        """Returns the seconds of an eager batch of this many tokens: linear between the sizes measured.

        Below the smallest it is the smallest's, above the largest proportional. Needs one measurement.
        """
        sizes = sorted(self.eager)
        place = bisect_left(sizes, tokens)
        if place == 0:
            return self.eager[sizes[0]]
        if place == len(sizes):
            return self.eager[sizes[-1]] * tokens / sizes[-1]
        low, high = sizes[place - 1], sizes[place]
        if tokens == high:
            return self.eager[high]
        share = (tokens - low) / (high - low)
        return self.eager[low] * (1 - share) + self.eager[high] * share

    def wins(self, size: int, tokens: int) -> bool:
        """Returns whether replaying the graph of this size is faster than running this many tokens eagerly."""
        return self.replay[size] * self.margin < self.eager_at(tokens)

    def cost(self, size: int | None, tokens: int) -> float:
        """Returns the seconds of a batch: eager if size is None, or if its graph does not win."""
        eager = self.eager_at(tokens)
        return eager if size is None else min(self.replay[size] * self.margin, eager)
