"""How many workers read."""

import pytest

from pipeline.config.sources import load
from pipeline.errors import ConfigError


@pytest.mark.parametrize(("value", "expected"), [("3", 3), ("auto", "auto"), ("null", None)])
def test_workers_are_a_number_or_auto(value: str, expected: object) -> None:
    assert load(None, [f"cluster.workers={value}"]).cluster.workers == expected


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "true"])
def test_anything_else_is_refused_with_what_to_write(value: str) -> None:
    with pytest.raises(ConfigError, match=r"cluster\.workers: write a number of workers from 1 on, or auto"):
        load(None, [f"cluster.workers={value}"])
