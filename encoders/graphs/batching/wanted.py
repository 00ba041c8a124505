"""Chooses the sizes to capture, from the settings and from what a path says of itself."""

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise

from encoders.graphs.batching import budgets
from encoders.graphs.capturing.buffers import META
from encoders.graphs.errors import BudgetError
from encoders.graphs.path import GraphPath
from encoders.graphs.settings import GraphSettings


def user_budgets(paths: Sequence[GraphPath], settings: GraphSettings) -> dict[str, list[int]]:
    """Returns the user's list of each path that has one. Raises BudgetError, with the remedy, for one without sense."""
    known = [path.name for path in paths]
    for name in settings.budgets if isinstance(settings.budgets, Mapping) else ():
        if name not in known:
            raise BudgetError(f"budgets names a path {name}; this encoder has {', '.join(known)}")
    chosen = {}
    for path in paths:
        sizes = settings.budgets_of(path.name)
        if sizes is not None and sizes != "auto":
            chosen[path.name] = budgets.validate(path.name, sizes, path.least_tokens)
    return chosen


def wanted_sizes(
    path: GraphPath, axis: Hashable, settings: GraphSettings, chosen: Sequence[int] | None
) -> list[int]:
    """Returns sizes in tokens, ascending; equivalent budgets are one. chosen: the user's, None to generate them.

    Raises BudgetError if the input buffers of a chosen budget alone exceed memory_limit, which must be None where
    nothing is captured.
    """
    if chosen is None:
        make = budgets.generate_finely if settings.budgets_of(path.name) == "auto" else budgets.generate
        sizes = make(path.unit_tokens(axis), path.most_tokens(axis, settings.max_items))
    else:
        sizes = list(chosen)
    held = sorted({path.captured_tokens(axis, size, settings.max_items) for size in sizes} - {0})
    if chosen is not None and settings.memory_limit is not None:
        for size in held:
            needed = sum(like.nbytes for like in path.buffers(axis, size, META).values())
            if needed > settings.memory_limit:
                raise BudgetError(
                    f"budgets of {path.name}: {size} tokens need {needed} bytes for their input alone, more than "
                    f"memory_limit, {settings.memory_limit}: leave them out or raise it"
                )
    return held


def due_sizes(
    wanted: Sequence[int], observed: Mapping[int, int], known: Container[int], settings: GraphSettings
) -> Iterator[int]:
    """Yields the sizes to capture now, largest first: those that enough batches came for.

    wanted: ascending. observed: how often batches of each number of tokens came. known: sizes already tried.
    """
    for below, size in reversed(list(pairwise([0, *wanted]))):
        if size > settings.due_tokens or size in known or settings.capture_after is None:
            continue
        if (
            sum(count for tokens, count in observed.items() if below < tokens <= size)
            >= settings.capture_after
        ):
            yield size
