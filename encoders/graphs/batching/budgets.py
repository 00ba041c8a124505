"""Token budgets: chooses which batch sizes are captured."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from encoders.graphs.errors import GraphSettingsError


def generate(least: int, most: int) -> list[int]:
    """Returns the doublings of least up to most, then most itself.

    Raises GraphSettingsError if least is no size or above most.
    """
    if least < 1 or most < least:
        raise GraphSettingsError(
            f"budgets cannot run from {least} to {most} tokens: raise max_items or the largest"
        )
    sizes = []
    size = least
    while size <= most:
        sizes.append(size)
        size *= 2
    return sizes if sizes[-1] == most else [*sizes, most]


def generate_finely(least: int, most: int) -> list[int]:
    """Returns the sizes of generate(), with the middle of every doubling that is a multiple of least."""
    doubled = generate(least, most)
    middles = [size * 3 // 2 for size in doubled if (size // least) % 2 == 0 and size * 3 // 2 < most]
    return sorted({*doubled, *middles})


def validate(path: str, budgets: Sequence[int], least: int) -> list[int]:
    """Returns the user's list for a path with a smallest unit of `least` tokens.

    Raises GraphSettingsError with the remedy.
    """
    if isinstance(budgets, str):
        raise GraphSettingsError(f"budgets of {path} is {budgets!r}: give a list of tokens, or auto")
    if not budgets:
        raise GraphSettingsError(
            f"budgets of {path} is empty: leave it out to have sizes generated, or set graphs off"
        )
    for budget in budgets:
        if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
            raise GraphSettingsError(
                f"budgets of {path}: {budget!r} is not a positive whole number of tokens"
            )
        if budget % least:
            near = max(least, round(budget / least) * least)
            raise GraphSettingsError(
                f"budgets of {path}: {budget} is not a multiple of {least}, the tokens of its smallest unit; "
                f"the nearest is {near}"
            )
    wanted = sorted(set(budgets))
    if list(budgets) != wanted:
        raise GraphSettingsError(
            f"budgets of {path}: {list(budgets)} must ascend without repeats: write {wanted}"
        )
    return wanted


def assumed(unit: int, most: int) -> dict[int, int]:
    """Returns how often to expect batches of each number of tokens where nothing is known, in the form choose() takes.

    A long queue yields full batches and one remainder, all remainders equally likely: half of all batches are full.
    """
    remainders = range(unit, most, unit)
    return dict.fromkeys(remainders, 1) | {most: max(1, len(remainders))}


def smallest_fitting(sizes: Sequence[int], tokens: int) -> int | None:
    """Returns the smallest of the ascending sizes that holds this many tokens; None if there is none."""
    place = bisect_left(sizes, tokens)
    return sizes[place] if place < len(sizes) else None


def choose(
    histogram: Mapping[int, int],
    latency_of: Callable[[int], float],
    candidates: Sequence[int],
    max_graphs: int,
) -> list[int]:
    """Returns the sizes of least total latency, ascending; of equal choices the one with fewest sizes.

    histogram: how often each batch size was seen. Every batch runs in the smallest chosen size that holds it; batches
    above all candidates are ignored. latency_of: of a full batch of a candidate's size.
    """
    sizes = sorted(set(candidates))
    seen = (
        {size: count for size, count in histogram.items() if count > 0 and size <= sizes[-1]} if sizes else {}
    )
    if not seen or max_graphs < 1:
        return []
    below = [sum(count for size, count in seen.items() if size <= candidate) for candidate in sizes]
    last = next(i for i, count in enumerate(below) if count == below[-1])
    # best[j]: (cost, sizes) of serving all batches up to sizes[j], the last one chosen, with one graph more each round.
    best: dict[int, tuple[float, tuple[int, ...]]] = {
        j: (below[j] * latency_of(sizes[j]), (sizes[j],)) for j in range(len(sizes))
    }
    answers = [best[j] for j in range(last, len(sizes))]
    for _ in range(max_graphs - 1):
        best = {
            j: min(
                (cost + (below[j] - below[i]) * latency_of(sizes[j]), (*chosen, sizes[j]))
                for i, (cost, chosen) in best.items()
                if i < j
            )
            for j in range(len(sizes))
            if any(i < j for i in best)
        }
        answers += [entry for j, entry in best.items() if j >= last]
    return list(min(answers, key=lambda entry: (entry[0], len(entry[1]), entry[1]))[1])
