"""Packs units into batches, for one path and axis, by the latencies measured for it."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from encoders.graphs.batching.budgets import smallest_fitting


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch. indices: of its units, ascending. size: tokens of its graph; None if it runs eagerly."""

    indices: tuple[int, ...]
    tokens: int
    size: int | None

    @property
    def padding(self) -> int:
        """Returns the number of padding tokens."""
        return 0 if self.size is None else self.size - self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of a batch. sizes: captured ones, ascending, none above max_tokens; may be empty."""

    max_tokens: int
    max_items: int
    sizes: Sequence[int] = ()


def pack(
    tokens: Sequence[int],
    bounds: Bounds,
    *,
    items: Sequence[int] | None = None,
    latencies: Latencies | None = None,
) -> list[Batch]:
    """Returns batches with every unit in exactly one, fullest first; the same input gives the same batches.

    tokens, items: of each unit (items: 1 by default). With latencies it finds the batches of least total time (exactly,
    if all units are equal); without, the fewest, then those of least padding. A unit beyond the bounds gets a batch of
    its own, without a size.
    """
    counts = [1] * len(tokens) if items is None else items
    inside: list[int] = []
    alone: list[int] = []
    for index, (size, count) in enumerate(zip(tokens, counts, strict=True)):
        fits = size <= bounds.max_tokens and count <= bounds.max_items
        (inside if fits else alone).append(index)
    uniform = len({(tokens[index], counts[index]) for index in inside}) == 1
    if uniform and latencies is not None and counts[inside[0]] == 1:
        batches = _pack_equal(inside, tokens[inside[0]], bounds, latencies)
    else:
        batches = _pack_mixed(inside, tokens, counts, bounds, latencies)
    batches.sort(key=lambda batch: (-batch.tokens, batch.indices))
    return batches + [Batch(indices=(index,), tokens=tokens[index], size=None) for index in alone]


def total_seconds(batches: Iterable[Batch], latencies: Latencies) -> float:
    """Returns the seconds the batches take, by the latencies measured."""
    return sum(latencies.cost(batch.size, batch.tokens) for batch in batches)


def _pack_equal(indices: Sequence[int], unit: int, bounds: Bounds, latencies: Latencies) -> list[Batch]:
    """Packs units of one size: the cheapest way to cover their number with graphs and eager runs."""
    num = len(indices)
    most = min(bounds.max_tokens // unit, bounds.max_items)
    options = _undominated(
        [(latencies.replay[size], min(size // unit, most)) for size in bounds.sizes if size >= unit]
        + [(latencies.eager_at(count * unit), count) for count in range(1, most + 1)]
    )
    best: list[tuple[float, int]] = [(0.0, 0)]  # by number of units: seconds, and units in the last batch
    for count in range(1, num + 1):
        best.append(
            min((best[max(0, count - held)][0] + seconds, -min(held, count)) for seconds, held in options)
        )
    lengths = []
    left = num
    while left:
        lengths.append(-best[left][1])
        left += best[left][1]
    batches = []
    start = 0
    for length in lengths:
        members = tuple(indices[start : start + length])
        start += length
        batches.append(_batch(members, length * unit, bounds, latencies))
    return batches


def _undominated(options: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Returns the (seconds, units) that no other beats by being no slower and holding no fewer units."""
    kept: list[tuple[float, int]] = []
    for seconds, held in sorted(options, key=lambda option: (option[0], -option[1])):
        if not kept or held > kept[-1][1]:
            kept.append((seconds, held))
    return kept


def _pack_mixed(
    indices: Sequence[int],
    tokens: Sequence[int],
    items: Sequence[int],
    bounds: Bounds,
    latencies: Latencies | None,
) -> list[Batch]:
    """Packs units of several sizes: the best of first-fit decreasing and filling in order, with every size as limit."""
    if not indices:
        return []
    largest = max(tokens[index] for index in indices)
    limits = {bounds.max_tokens}
    if latencies is not None:
        limits |= {size for size in bounds.sizes if size >= largest}
    falling = sorted(indices, key=lambda index: (-tokens[index], index))
    plans = []
    for limit in sorted(limits, reverse=True):
        for order, look_back in ((falling, True), (list(indices), False)):
            bins = _fill(order, tokens, items, limit, bounds.max_items, look_back)
            plans.append(
                [
                    _batch(tuple(sorted(members)), sum(tokens[index] for index in members), bounds, latencies)
                    for members in bins
                ]
            )
    return min(plans, key=_rank(latencies))


def _rank(latencies: Latencies | None) -> Callable[[list[Batch]], tuple[float, int]]:
    def rank(plan: list[Batch]) -> tuple[float, int]:
        cost = len(plan) if latencies is None else total_seconds(plan, latencies)
        return cost, sum(batch.padding for batch in plan)

    return rank


def _fill(
    order: Sequence[int],
    tokens: Sequence[int],
    items: Sequence[int],
    max_tokens: int,
    max_items: int,
    look_back: bool,
) -> list[list[int]]:
    """Puts each unit into the first batch with room: of all batches if look_back, else of the last one alone."""
    bins: list[list[int]] = []
    room: list[tuple[int, int]] = []
    for index in order:
        first = 0 if look_back else max(0, len(bins) - 1)
        for place in range(first, len(bins)):
            if room[place][0] >= tokens[index] and room[place][1] >= items[index]:
                break
        else:
            place = len(bins)
            bins.append([])
            room.append((max_tokens, max_items))
        bins[place].append(index)
        room[place] = (room[place][0] - tokens[index], room[place][1] - items[index])
    return bins


def _batch(members: tuple[int, ...], tokens: int, bounds: Bounds, latencies: Latencies | None) -> Batch:
    size = smallest_fitting(bounds.sizes, tokens)
    if size is not None and latencies is not None and not latencies.wins(size, tokens):
        size = None
    return Batch(indices=members, tokens=tokens, size=size)
