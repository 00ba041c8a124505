"""DeepSeek-OCR and models of its shape, such as the shipped one. Torch-free."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ocr.families.family import Family, Kind, ModelFacts, ViewMaker

MODEL_TYPE = "deepseek_vl_v2"


class DeepSeekFamily(Family):
    name = "DeepSeek-OCR"
    module = "ocr.families.deepseek.deepseek_loading"

    def knows(self, config: Mapping[str, Any]) -> bool:
        """Returns whether it is DeepSeek-OCR; its successor's own repository gives the same type."""
        vision = config.get("vision_config")
        widths = vision.get("width") if isinstance(vision, Mapping) else None
        is_other = isinstance(widths, Mapping) and "clip-l-14-224" not in widths
        return config.get("model_type") == MODEL_TYPE and not is_other

    def view_maker(self, directory: Path) -> ViewMaker | None:
        return None

    def ngram(self, kind: Kind, facts: ModelFacts | None = None) -> tuple[int, int]:
        """Returns those of upstream's scripts for PDF files and for images."""
        return (20, 50) if kind == "pdf" else (30, 90)
