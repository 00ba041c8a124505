"""Baidu's Unlimited-OCR: DeepSeek-OCR's vision encoder, and a language model that forgets its oldest words. Torch-free.

Its prompt, n-gram, format and licence are in ocr/families/published/models.yaml.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ocr.families.published.entry_family import EntryFamily
from ocr.families.unlimited_ocr.unlimited_views import UnlimitedViews, read_views

# Of transformers, and of the publisher's own config.json.
MODEL_TYPES = ("unlimited_ocr", "unlimited-ocr")


class UnlimitedFamily(EntryFamily):
    name = "Unlimited-OCR"
    module = "ocr.families.unlimited_ocr.unlimited_reader"
    files = ("generation_config.json", "preprocessor_config.json", "processor_config.json")

    def knows(self, config: Mapping[str, Any]) -> bool:
        return config.get("model_type") in MODEL_TYPES

    def view_maker(self, directory: Path) -> UnlimitedViews:
        return read_views(directory)
