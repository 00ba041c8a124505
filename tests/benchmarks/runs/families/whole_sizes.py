"""Lists the sizes of whole published models, language model included, for checkpoints of random weights. Torch-free.

Vision encoders are those of pipeline.bench.encoding.subjects where that lists them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from pipeline.bench.encoding.subjects import SIZES


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSize:
    """One model's sizes. kind: its entry in tests.ocr.families.published.tiny_published, or "minicpmv" or "deepseek".

    billions: of parameters, as published. source: where text was read. text, vision, top: of the config.json; top is
    beside the others. image: settings of the image processor. version: MiniCPM-V's. unverified: what was found neither
    where the model is published nor in a copy of it, beside what published_sizes says of encoders.
    """

    kind: str
    billions: float
    source: str
    text: Mapping[str, Any] = field(default_factory=dict)
    vision: Mapping[str, Any] = field(default_factory=dict)
    top: Mapping[str, Any] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    unverified: tuple[str, ...] = ()


def _with_encoder(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Returns an entry of the table with what published_sizes says of its encoder."""
    if entry["kind"] == "minicpmv":
        top = {**SIZES[name].config}
        del top["model_type"], top["version"]
        assert entry["text"]["hidden_size"] == top["hidden_size"]
        return {**entry, "top": top, "version": name.removeprefix("minicpm-v-")}
    return {**entry, "vision": SIZES[name].config} if entry.get("vision") == "published" else entry


_TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
WHOLE_SIZES = TypeAdapter(dict[str, WholeSize]).validate_python(
    {name: _with_encoder(name, entry) for name, entry in _TABLE.items()}
)
