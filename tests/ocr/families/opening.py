"""Loads a model of any family, as a run on a CPU does; encodes pages with it, and has them read."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from encoders.graphs.capturing.capture import Capture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.families.family import Loading, NumberFormat
from ocr.families.registry import family_of


def opened(folder: Path, prompt: str | None = None, dtype: NumberFormat = "float32") -> Any:
    return family_of(folder).load(loading(folder, prompt, dtype))


def loading(folder: Path, prompt: str | None = None, dtype: NumberFormat = "float32") -> Loading:
    return Loading(
        directory=folder, name=str(folder), device="cpu", dtype=dtype, encoder_dtype=dtype, prompt=prompt
    )


@torch.inference_mode()
def encoded_by(
    encoder: PageEncoder,
    views: Sequence[PageViews],
    capture: Capture | None = None,
    settings: GraphSettings | None = None,
) -> tuple[list[VisionTokens], set[str]]:
    """Returns the pages' tokens, and how their units were encoded: through graphs where there is a capture."""
    manager = EncoderGraphManager(encoder.paths, settings or GraphSettings(), encoder.device, capture)
    if capture is not None:
        manager.warm_up(dict(encoder.usual_axes))
    views = [encoder.prepared(page) for page in views]
    made = {name: encoder.encode(manager, name, views) for name in encoder.path_names}
    uses = {use for _, by_page in made.values() for page in by_page for use in page}
    return encoder.assemble(views, {name: outputs for name, (outputs, _) in made.items()}), uses


def read_by(
    reader: Any, tokens: Sequence[VisionTokens], slots: int, new: int, **limits: Any
) -> list[PageRead]:
    """Returns what a model's engine reads of encoded pages, at most `new` tokens of each, in their order."""
    settings = DecodeSettings(**{"ngram_size": 0, "loop_tokens": 0, **limits})
    asked = [PageRequest(vision=its, settings=settings) for its in tokens]
    limited = [
        replace(one, settings=replace(settings, max_tokens=reader.prompted(one).num_tokens + new))
        for one in asked
    ]
    found = {page.index: page for page in reader.engine(prompt="", num_slots=slots).read(limited)}
    return [found[index] for index in range(len(limited))]
