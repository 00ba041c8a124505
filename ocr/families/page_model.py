"""The interface of a model that reads pages, as the threads of a run use it."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

import torch
from tokenizers import Tokenizer

from encoders.vision_encoder import PageEncoder
from ocr.decoding.requests import PageRead, PageRequest
from ocr.imaging.tiling import Mode
from ocr.types import OutputFormat

if TYPE_CHECKING:
    from ocr.decoding.gpu.reader import PagedReader


class PageEngine(Protocol):
    """Writes the texts of encoded pages, several at once."""

    def read(
        self, requests: Iterable[PageRequest | None], check: Callable[[], None] | None = None
    ) -> Iterator[PageRead]:
        """Yields each page as it is finished; ocr.decoding.gpu.reader.PagedReader.read says what a None means."""


class PageModel(Protocol):
    """A loaded model. ocr.checkpoints.checkpoint.LoadedModel describes its fields.

    One whose vision tokens transformers' own class computes too has a method `reference_features`, which returns those
    of pages or videos, [T, D] each, in order: to compare results and speed with. One that takes several pages in a
    prompt has a method `prompt_for`, which returns the prompt for a number of pages.
    """

    @property
    def name(self) -> str: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def prompt(self) -> str: ...
    @property
    def output_format(self) -> OutputFormat:
        """How it writes a page's text."""

    @property
    def device(self) -> torch.device: ...

    def vision_encoder(self, mode: Mode) -> PageEncoder:
        """Returns its vision encoder. mode: how pages are tiled, for families whose pages are."""

    def engine(self, *, prompt: str, num_slots: int, kv_bytes: int | None = None) -> PageEngine:
        """Returns an engine for any device. num_slots: pages at once. kv_bytes: the most for keys and values."""

    def paged_reader(self, *, prompt: str, slots: int, max_tokens: int) -> "PagedReader | None":
        """Returns a faster engine for this model on its device, ready to read, or None if there is none.

        Raises: whatever making, compiling or capturing raises.
        """
