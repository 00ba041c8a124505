"""What a run must know of a family of models before it loads one. Torch-free: workers and configuration ask."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from encoders.video_timing import VideoTiming
from encoders.views import PageViews, UInt8Array

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

Kind = Literal["pdf", "image"]
NumberFormat = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of a model before it is loaded. name: as the user gave it. config: its config.json.

    entry: the entry of published/models.yaml that the user says it is, None to go by the rest.
    """

    name: str
    config: Mapping[str, Any]
    entry: str | None = None


class ViewMaker(Protocol):
    """Makes a page's views of its pixels, in a worker process: picklable, and equal if it makes the same views.

    most_px: the pixels of a page beyond which its views show no more of it.
    """

    @property
    def most_px(self) -> int: ...

    def __call__(self, pixels: UInt8Array, /) -> PageViews:
        """Returns the views of a page, [H, W, 3] uint8 RGB."""


class VideoMaker(Protocol):
    """Makes the views of a video, in a worker process: picklable. most_px: of all its frames together, as views.

    most_frames: it is shown at most so many; those of frames without a rate at even distances.
    """

    @property
    def most_px(self) -> int: ...
    @property
    def most_frames(self) -> int: ...

    def shown(self, num_frames: int, rate: float) -> tuple[int, ...]:
        """Returns which frames it shows of a video of so many, at a rate in frames a second: ascending, 0-based."""

    def frame_size(self, num_frames: int, height: int, width: int) -> tuple[int, int]:
        """Returns the (height, width) of frames as views; those that have it already are not resized."""

    def __call__(self, frames: UInt8Array, timing: VideoTiming | None = None, /) -> PageViews:
        """Returns the views of frames [T, H, W, 3] uint8 RGB. timing: theirs; None where no times are known."""


class Family(ABC):
    """Models of one architecture, or that one piece of code loads. name: how messages call it.

    module: has a function `load` with the arguments of Family.load; it is imported only then, as it imports torch.
    files: patterns of further files that a reading depends on, besides weights, config.json and tokenizer.json.
    has_entries: whether its models' prompts and formats are entries of published/models.yaml.
    """

    name: str
    module: str
    files: tuple[str, ...] = ()
    has_entries: bool = False

    @abstractmethod
    def knows(self, config: Mapping[str, Any]) -> bool:
        """Returns whether it loads models with this config.json."""

    @abstractmethod
    def view_maker(self, directory: Path) -> ViewMaker | None:
        """Returns what makes the pages' views; None for DeepSeek-OCR's global view and tiles, which have settings.

        Raises: CheckpointError for a file that is missing or says nothing usable.
        """

    def video_maker(self, directory: Path) -> VideoMaker | None:
        """Returns what makes the views of videos; None for a model that reads none. Raises: CheckpointError."""
        return None

    def load(
        self,
        directory: Path,
        *,
        name: str,
        device: str,
        dtype: NumberFormat,
        encoder_dtype: NumberFormat,
        prompt: str | None,
        entry: str | None = None,
    ) -> "PageModel":
        """Returns the model in a directory. name: as the user gave it. prompt: the user's, None for the model's own.

        device: "cpu" or "cuda". entry: see ModelFacts. Raises: CheckpointError, naming the file, key or tensors and
        what to do.
        """
        more = {"entry": entry} if self.has_entries else {}
        loaded: PageModel = importlib.import_module(self.module).load(
            directory,
            name=name,
            device=device,
            dtype=dtype,
            encoder_dtype=encoder_dtype,
            prompt=prompt,
            **more,
        )
        return loaded

    def defaults(self, facts: ModelFacts) -> str:
        """Returns, as a text, what a reading depends on besides the model's files; "" for nothing."""
        return ""

    def restriction(self, facts: ModelFacts) -> str | None:
        """Returns what a model's licence says against commercial use, None if nothing is known against it."""
        return None

    def entry(self, facts: ModelFacts) -> str | None:
        """Returns which entry of published/models.yaml a model is taken for, and why; None without such entries."""
        return None

    def ngram(self, kind: Kind, facts: ModelFacts | None = None) -> tuple[int, int]:
        """Returns size and window of the no-repeat n-gram that published scripts use; size 0 for none.

        facts: of the model; None for the family's usual one.
        """
        return 0, 1
