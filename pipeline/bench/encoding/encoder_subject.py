"""Defines what is measured: a vision encoder, what makes its inputs, and transformers' own with the same weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any, Protocol

from torch import Tensor

from encoders.deepseek.graph_paths import DeepSeekEncoder
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.families.family import VideoMaker, ViewMaker
from ocr.families.page_model import PageModel, ReferenceModel
from ocr.model.deepseek_ocr import OcrModel
from pipeline.bench.reference import load_reference, page_tokens


class Reference(Protocol):
    """A family's own implementation in transformers, ready to encode."""

    def features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' vision tokens, [T, D] each, in order."""

    def num_forwards(self, pages: Sequence[PageViews]) -> int:
        """Returns how many forwards of the vision model encode these pages."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncoderSubject:
    """A vision encoder to measure.

    view_maker: None for DeepSeek-OCR's global view and tiles. video_maker: None for a model that takes no videos.
    open_reference: loads transformers' implementation; None where there is none to compare with.
    """

    encoder: PageEncoder
    view_maker: ViewMaker | None = None
    video_maker: VideoMaker | None = None
    open_reference: Callable[[], Reference] | None = None

    def missing(self) -> dict[str, str]:
        """Returns the arms that it lacks, each with the reason."""
        if not self.encoder.paths:
            own = "this model's encoder is transformers' own"
            return {
                "reference": f"{own}, which the arm eager runs",
                "graph": f"{own}, without paths for graphs",
            }
        return {} if self.open_reference else {"reference": "transformers has no class for this model"}


def subject_of(
    loaded: PageModel, view_maker: ViewMaker | None, video_maker: VideoMaker | None
) -> EncoderSubject:
    """Returns a loaded model's encoder, for pages in mode "gundam" if it has modes."""
    return EncoderSubject(
        encoder=loaded.vision_encoder("gundam"),
        view_maker=view_maker,
        video_maker=video_maker,
        open_reference=reference_of(loaded),
    )


def deepseek_subject(model: OcrModel) -> EncoderSubject:
    """Returns the encoder of a DeepSeek-OCR model that no checkpoint was loaded for."""
    return EncoderSubject(
        encoder=DeepSeekEncoder(model.encoder), open_reference=partial(DeepSeekReference, model)
    )


@singledispatch
def reference_of(loaded: object) -> Callable[[], Reference] | None:
    """Returns what loads transformers' implementation of a loaded model."""
    return partial(FamilyReference, loaded) if isinstance(loaded, ReferenceModel) else None


@reference_of.register
def _(loaded: LoadedModel) -> Callable[[], Reference]:
    return partial(DeepSeekReference, loaded.model)


class FamilyReference:
    """Implements Reference with a model's own method: one forward for the images or videos of a batch."""

    def __init__(self, loaded: ReferenceModel) -> None:
        self._loaded = loaded

    def features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        return self._loaded.reference_features(pages)

    def num_forwards(self, pages: Sequence[PageViews]) -> int:
        return 1


class DeepSeekReference:
    """Implements Reference with transformers' classes: one forward for the global views and one for any tiles."""

    def __init__(self, model: OcrModel) -> None:
        self.model: Any = load_reference(model)

    def features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        return page_tokens(self.model, pages)

    def num_forwards(self, pages: Sequence[PageViews]) -> int:
        return 1 + any(page.num_tiles for page in pages)
