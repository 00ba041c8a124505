"""Tells MiniCPM-V's versions apart by their config.json. Torch-free."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from ocr.errors import CheckpointError

Version = Literal["2.5", "2.6", "4.0", "4.5"]
MODEL_TYPE = "minicpmv"


def version_of(config: Mapping[str, Any]) -> Version:
    """Returns the version of a config.json of MODEL_TYPE. The first files of 2.5 do not name it.

    Raises: CheckpointError for a version that is not one of these.
    """
    named = config.get("version")
    if named is None and "vision_config" in config:
        return "2.5"
    for version in get_args(Version):
        if named is not None and str(named) in (version, version.removesuffix(".0")):
            return version  # type: ignore[no-any-return]
    raise CheckpointError(
        f"config.json: version is {named!r}; of MiniCPM-V this can load {', '.join(get_args(Version))}: choose one of "
        "these"
    )


def section(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Returns an object within config.json, empty where it is left out. Raises: CheckpointError if it is none."""
    value = config.get(key) or {}
    if not isinstance(value, Mapping):
        raise CheckpointError(
            f"config.json: {key} is {value!r}; use the config.json published with the model"
        )
    return value


def whole_number(values: Mapping[str, Any], key: str, default: int) -> int:
    """Returns a positive whole number of config.json. Raises: CheckpointError for anything else."""
    value = values.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CheckpointError(
            f"config.json: {key} is {value!r}, not a positive whole number; use the config.json published with the "
            "model"
        )
    return value
