"""Defines the configuration's section `encoder` and translates it into the graph manager's settings. Torch-free."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ByteSize, Field, TypeAdapter, ValidationError, field_validator

from encoders.graphs.batching.budgets import validate
from encoders.graphs.errors import GraphSettingsError
from encoders.graphs.settings import GraphSettings
from ocr.imaging.tiling import MODES, TILE_PX, Mode
from pipeline.config.section import SWITCH, Section
from pipeline.errors import ConfigError

# DeepSeek-OCR's, and those of other families.
PATHS = ("global", "local", "slices", "image", "video")
# The line reader's: its images are much smaller than the views that max_items counts.
LINE_PATHS = ("find", "line")
_LINES_A_VIEW = 8
_SIZE = TypeAdapter(ByteSize)


Budgets = dict[str, list[int]] | Literal["auto"] | None


class EncoderConfig(Section):
    """Settings of how fast the vision encoder runs. Only dtype affects its output, by rounding.

    Tokens in bfloat16 differ by 1.8e-2 from those in float32. Changing any of these settings, dtype included, does not
    make a run read pages again.

    budgets: tokens of the graphs of each path; None doubles from one view on, "auto" chooses by the batches seen.
    memory_limit: bytes; in YAML also a text such as 8GiB.
    """

    graphs: Annotated[Literal["auto", "on", "off"], SWITCH] = "auto"
    budgets: Budgets = None
    max_items: int = Field(default=32, ge=1)
    max_frames: int = Field(default=64, ge=1)
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    memory_limit: int | None = None
    operational: ClassVar[frozenset[str]] = frozenset(
        {"graphs", "budgets", "max_items", "max_frames", "dtype", "memory_limit"}
    )

    @field_validator("budgets", mode="before")
    @classmethod
    def _budgets_are_sizes(cls, budgets: Any) -> Any:
        """Checks budgets before pydantic tries the union, whose errors would name its alternatives as keys."""
        if budgets is None or budgets == "auto":
            return budgets
        if not isinstance(budgets, dict) or not budgets:
            raise ValueError("write auto, null, or a list of tokens a path, such as {global: [256, 512]}")
        for path, sizes in budgets.items():
            if path not in (*PATHS, *LINE_PATHS):
                raise ValueError(f"there is no path {path}; write one of {', '.join((*PATHS, *LINE_PATHS))}")
            if not isinstance(sizes, list):
                raise ValueError(f"{path} is not a list of tokens; write {path}: [...], or leave {path} out")
            try:
                validate(path, sizes, 1)
            except GraphSettingsError as error:
                raise ValueError(str(error).removeprefix("budgets of ")) from None
        return budgets

    @field_validator("memory_limit", mode="before")
    @classmethod
    def _memory_limit_is_bytes(cls, limit: Any) -> Any:
        if isinstance(limit, str) and not limit.isdecimal():
            with suppress(ValidationError):  # which names no remedy
                limit = int(_SIZE.validate_python(limit))
        if limit is None or (type(limit) is int and limit >= 1):
            return limit
        raise ValueError("write a number of bytes, or a size such as 8GiB or 500MB; null for no limit")


def graph_settings(config: EncoderConfig, mode: Mode | None = None) -> GraphSettings:
    """Returns the graph manager's settings. Raises: ConfigError for budgets that the mode's views do not fill.

    mode: of views as DeepSeek-OCR has them; None for a model with views of its own, whose tokens are known once it is
    loaded, as are its paths. Budgets are checked again at warm-up, and whether memory_limit has room for them, as it
    matters only on a device with graphs.
    """
    tokens: dict[str, int] = {}
    if mode is not None:
        tokens = {"global": (MODES[mode].base_px // 64) ** 2, "local": (TILE_PX // 64) ** 2}
    try:
        if isinstance(config.budgets, dict):
            for path, sizes in config.budgets.items():
                validate(path, sizes, tokens.get(path, 1))
        return GraphSettings(
            graphs=config.graphs,
            budgets=_without(config.budgets, LINE_PATHS),
            max_items=config.max_items,
            max_frames=config.max_frames,
            memory_limit=config.memory_limit,
        )
    except GraphSettingsError as error:
        raise config_error(error) from None


def line_settings(config: EncoderConfig) -> GraphSettings:
    """Returns the graph manager's settings for the line reader's paths."""
    return GraphSettings(
        graphs=config.graphs,
        budgets=_without(config.budgets, PATHS),
        max_items=_LINES_A_VIEW * config.max_items,
        memory_limit=config.memory_limit,
    )


def _without(budgets: Budgets, paths: Sequence[str]) -> Budgets:
    if not isinstance(budgets, dict):
        return budgets
    return {path: sizes for path, sizes in budgets.items() if path not in paths} or None


def config_error(error: GraphSettingsError) -> ConfigError:
    """Returns the graph manager's error as one that names the configuration key."""
    return ConfigError("encoder." + re.sub(r"^budgets of (\w+):? ", r"budgets.\1: ", str(error)))
