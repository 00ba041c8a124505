"""Pages and models for tests of the model's threads: small, and with faults on demand."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageOutputs
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.types import OutputFormat, Transcript
from pipeline.device.tickets import Ticket
from pipeline.types import Page, RenderedPage
from tests.ocr.tiny_reader import EOS, READ, VOCAB, ChainReader, Reader, tokenizer, vision

CPU = torch.device("cpu")
REF_DET = OutputFormat(name="ref_det", keeps_special_tokens=True)
TEXT = "w5 w6 w7"


@dataclass(frozen=True)
class LoadedReader(Reader):
    prompt: str = "<image>\nRead"
    output_format: OutputFormat = REF_DET
    device: torch.device = CPU

    def engine(self, *, prompt: str, num_slots: int, kv_bytes: int | None = None) -> PagedReader:
        return PagedReader.plain(self, prompt=prompt, num_slots=num_slots, kv_bytes=kv_bytes)


def loaded_reader(**changes: Any) -> Any:
    """A model that writes TEXT whatever it is shown."""
    return LoadedReader(model=ChainReader({READ: 5, 5: 6, 6: 7, 7: EOS}), tokenizer=tokenizer(), **changes)


def rendered(number: int = 0, side: int = 8) -> RenderedPage:
    """A page whose every pixel is its number."""
    views = PageViews(
        global_view=np.full((3, side, side), number, np.uint8),
        local_views=np.zeros((0, 3, 640, 640), np.uint8),
        grid=(1, 1),
    )
    page = Page(path="a.png", sha256="0" * 64, kind="image", page_index=number)
    return RenderedPage(
        page=page, views=views, width_px=8, height_px=8, dpi=None, blank=False, seconds={"render": 0.5}
    )


def tokens(num_tokens: int = 4, seed: int = 0) -> VisionTokens:
    return vision(num_tokens, seed, width=VOCAB)


def ticket(number: int = 0, **settings: Any) -> Ticket:
    """A page that is ready to be read."""
    request = PageRequest(vision=tokens(seed=number), settings=DecodeSettings(**settings))
    return Ticket(rendered=rendered(number), request=request)


def number_of(request: PageRequest, tickets: Sequence[Ticket]) -> int:
    """Which of the tickets' requests it is."""
    return next(number for number, its in enumerate(tickets) if its.request is request)


Fault = Callable[[list[int]], Exception | None]


@dataclass
class FakeEncoder:
    """Encodes pages by the numbers in their pixels.

    fault: what a batch of these pages raises. graphs: how often there is something to release.
    """

    fault: Fault = lambda numbers: None
    graphs: int = 0
    batches: list[list[int]] = field(default_factory=list)
    num_begun: int = 0

    def begin_batch(self) -> None:
        self.num_begun += 1

    path_names = ("global", "local")

    def encode_path(self, path: str, pages: Sequence[PageViews]) -> tuple[PageOutputs, list[list[str]]]:
        if path == "local":
            return [[]] * len(pages), [[]] * len(pages)
        numbers = [int(page.global_view[0, 0, 0]) for page in pages]
        self.batches.append(numbers)
        if error := self.fault(numbers):
            raise error
        return [[{}]] * len(pages), [["eager"]] * len(pages)

    def assemble(self, pages: Sequence[PageViews], *_: object) -> list[VisionTokens]:
        numbers = [int(page.global_view[0, 0, 0]) for page in pages]
        return [tokens(seed=number) for number in numbers]

    def synchronize(self) -> None: ...

    def release(self) -> bool:
        self.graphs -= 1
        return self.graphs >= 0


@dataclass
class FakeReader:
    """Reads pages in batches of so many slots, in order, three tokens each; in place of both engines.

    fault: what reading pages of these numbers together raises; numbers: of the pages in `tickets`.
    """

    tickets: Sequence[Ticket]
    slots: int
    fault: Fault = lambda numbers: None
    batches: list[list[int]] = field(default_factory=list)
    is_ready: bool = True
    num_closed: int = 0

    def read(
        self,
        requests: Iterable[PageRequest | None],
        check: Callable[[], None] | None = None,
    ) -> Iterator[PageRead]:
        waiting: list[tuple[int, int]] = []
        index = 0
        for request in requests:
            if request is not None:
                waiting.append((index, number_of(request, self.tickets)))
                index += 1
            if len(waiting) == self.slots or (request is None and waiting):
                yield from self._read(waiting)
                waiting = []
        if waiting:
            yield from self._read(waiting)

    def ready(self) -> bool:
        return self.is_ready

    def close(self) -> None:
        self.num_closed += 1

    def _read(self, pages: Sequence[tuple[int, int]]) -> Iterator[PageRead]:
        numbers = [number for _, number in pages]
        self.batches.append(numbers)
        if error := self.fault(numbers):
            raise error
        for index, _ in pages:
            transcript = Transcript(raw=TEXT, token_ids=(5, 6, 7), finish="eos", logprobs=(-0.1,) * 3)
            yield PageRead(index=index, transcript=transcript, prefill_s=0.25, generate_s=0.5)
