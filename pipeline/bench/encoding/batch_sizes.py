"""Works out which batches requests will make, and the graph sizes that pad these least."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain, product

from encoders.graphs.batching import budgets
from encoders.graphs.batching.packing import Bounds, pack
from encoders.graphs.path import Unit
from encoders.graphs.settings import GraphSettings
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder, VisionEncoder

# By path and axis: how often batches of each number of tokens are encoded.
Histogram = Mapping[tuple[str, Hashable], Mapping[int, int]]


def batch_sizes(
    encoder: PageEncoder, batches: Sequence[Sequence[PageViews]], settings: GraphSettings
) -> Histogram:
    """Returns how often batches of each number of tokens will be encoded, by path and axis.

    batches: of pages that are encoded together. Units that no batch holds are left out: they run alone, eagerly.
    """
    seen: dict[tuple[str, Hashable], Counter[int]] = {}
    if not isinstance(encoder, VisionEncoder):  # it has no paths
        return {}
    for path in encoder.paths:
        path.limit(settings)
    for pages, path in product(batches, encoder.paths):
        by_axis: dict[Hashable, list[Unit]] = {}
        for unit in chain.from_iterable(encoder.units(path.name, pages)):
            by_axis.setdefault(unit.axis, []).append(unit)
        for axis, units in by_axis.items():
            bounds = Bounds(max_tokens=path.most_tokens(axis), max_items=path.max_items)
            packed = pack([unit.tokens for unit in units], bounds, items=[unit.items for unit in units])
            inside = [batch.tokens for batch in packed if batch.tokens <= bounds.max_tokens]
            seen.setdefault((path.name, axis), Counter()).update(inside)
    return dict(seen)


def fitted_budgets(encoder: PageEncoder, seen: Histogram, max_graphs: int) -> dict[str, list[int]]:
    """Returns for each path that is used the sizes, at most max_graphs, with which these batches pad least."""
    chosen = {}
    for path in encoder.paths:
        least = path.least_tokens
        rounded: Counter[int] = Counter()
        for (name, _), counts in seen.items():
            for tokens, count in counts.items() if name == path.name else ():
                rounded[-(-tokens // least) * least] += count
        if sizes := budgets.choose(rounded, float, list(rounded), max_graphs):
            chosen[path.name] = sizes
    return chosen
