"""MiniCPM-V 2.5, 2.6, 4.0 and 4.5. Torch-free."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ocr.families.family import Family
from ocr.families.minicpm.minicpm_videos import MiniCpmVideos
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.versions import MODEL_TYPE, version_of
from ocr.model_files.locate import read_json


class MiniCpmFamily(Family):
    name = "MiniCPM-V 2.5 to 4.5"
    module = "ocr.families.minicpm.minicpm_reader"

    def knows(self, config: Mapping[str, Any]) -> bool:
        return config.get("model_type") == MODEL_TYPE

    def video_maker(self, directory: Path) -> MiniCpmVideos | None:
        """Returns what makes the views of videos; 2.5 reads none."""
        is_first = version_of(read_json(directory / "config.json")) == "2.5"
        return None if is_first else MiniCpmVideos(rule=self.view_maker(directory))

    def view_maker(self, directory: Path) -> SlicingRule:
        return SlicingRule.from_json(read_json(directory / "config.json"))
