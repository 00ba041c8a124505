"""Lists the sizes of published vision encoders, for models with random weights. Torch-free."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import yaml
from pydantic import TypeAdapter

from pipeline.bench.bench_figures import RANDOM
from pipeline.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSize:
    """One encoder's sizes. kind: which of subjects.KINDS makes it. config: its config.json's, as far as needed.

    image, video: of its preprocessor_config.json and video_preprocessor_config.json. packed: frames of a video that
    share tokens, None as its published example has it.
    """

    kind: str
    config: Mapping[str, Any] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    video: Mapping[str, Any] | None = None
    packed: int | None = None


SIZES: dict[str, PublishedSize] = TypeAdapter(dict[str, PublishedSize]).validate_python(
    yaml.safe_load(
        resources.files("pipeline.bench.encoding").joinpath("published_sizes.yaml").read_text("utf-8")
    )
)


def published_size(model: str) -> PublishedSize | None:
    """Returns the sizes that a --model names with "random" (DeepSeek-OCR's) or "random:NAME"; None for other models.

    Raises: ConfigError for a name that is not listed.
    """
    prefix, separator, name = model.partition(":")
    if prefix != RANDOM:
        return None
    found = SIZES.get(name if separator else "deepseek-ocr")
    if found is None:
        raise ConfigError(
            f"--model {model}: no sizes are listed for {name!r}; choose from {', '.join(SIZES)}"
        )
    return found
