"""Qwen3-VL and Qwen2.5-VL, which olmOCR-2 and Nanonets-OCR2 are made of. Torch-free."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ocr.families.published.entry_family import EntryFamily
from ocr.families.qwen_vl.qwen_resizing import QwenResizing, read_resizing
from ocr.families.qwen_vl.qwen_videos import QwenVideos
from ocr.model_files.locate import read_json

MODEL_TYPES = ("qwen3_vl", "qwen2_5_vl")


class QwenVlFamily(EntryFamily):
    name = "Qwen3-VL and Qwen2.5-VL"
    module = "ocr.families.qwen_vl.qwen_reader"
    files = ("generation_config.json", "preprocessor_config.json", "processor_config.json")

    def knows(self, config: Mapping[str, Any]) -> bool:
        return config.get("model_type") in MODEL_TYPES

    def video_maker(self, directory: Path) -> QwenVideos:
        return QwenVideos(resizing=self.view_maker(directory))

    def view_maker(self, directory: Path) -> QwenResizing:
        return read_resizing(directory, str(read_json(directory / "config.json").get("model_type")))
