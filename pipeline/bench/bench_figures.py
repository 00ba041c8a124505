"""What a bench found, as values for JSON and as lines to print, with the tables of its report. Torch-free."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import ConfigError

# The name of the model with random weights, and how many tokens it writes on a page.
RANDOM, RANDOM_OUTPUT_TOKENS = "random", 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a bench found. values: all of it, as JSON values. lines: the report's."""

    values: dict[str, Any]
    lines: tuple[str, ...]


def cells(widths: Sequence[int], name: str, *columns: str) -> str:
    """Returns a row of a table: its name, then columns to the right. The last width is that of all further columns."""
    first, *others = widths
    padded = [*others, *others[-1:] * (len(columns) - len(others))]
    return f"{name:<{first}}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(columns, padded, strict=False)
    )


def known(option: str, names: str, choices: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of an option's value, "a,b". Raises: ConfigError for one that is no choice."""
    found = tuple(name.strip() for name in names.split(","))
    if unknown := set(found) - set(choices):
        raise ConfigError(f"{option} {names}: there is no {min(unknown)!r}; choose from {', '.join(choices)}")
    return found
