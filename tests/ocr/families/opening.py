"""Loads a model of any family, as a run on a CPU does."""

from pathlib import Path
from typing import Any

from ocr.families.family import Loading, NumberFormat
from ocr.families.registry import family_of


def opened(folder: Path, prompt: str | None = None, dtype: NumberFormat = "float32") -> Any:
    return family_of(folder).load(loading(folder, prompt, dtype))


def loading(folder: Path, prompt: str | None = None, dtype: NumberFormat = "float32") -> Loading:
    return Loading(
        directory=folder, name=str(folder), device="cpu", dtype=dtype, encoder_dtype=dtype, prompt=prompt
    )
