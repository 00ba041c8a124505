"""MiniCPM-V 2.5, 2.6, 4.0 and 4.5. Torch-free."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ocr.families.family import Family, VideoMaker
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.versions import MODEL_TYPE
from ocr.families.minicpm.video_slicing import video_slicing
from ocr.model_files.locate import read_json


class MiniCpmFamily(Family):
    name = "MiniCPM-V 2.5 to 4.5"
    module = "ocr.families.minicpm.minicpm_reader"

    def knows(self, config: Mapping[str, Any]) -> bool:
        return config.get("model_type") == MODEL_TYPE

    def view_maker(self, directory: Path) -> SlicingRule:
        return SlicingRule.from_json(read_json(directory / "config.json"))

    def video_maker(self, directory: Path) -> VideoMaker | None:
        return video_slicing(read_json(directory / "config.json"))
