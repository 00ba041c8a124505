"""Defines the engine's settings and counters, and the records of a page on its way through it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from torch import Tensor

from ocr.decoding.gpu.forward.pending import Pending
from ocr.decoding.sequence.page_reading import PageReading


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Settings of a paged engine.

    slots: pages read at once. kv_bytes: of the key-value cache, never exceeded; None takes 2,048 tokens for each
    slot, or a quarter of max_tokens where that is more, but no more than kv_share of what is free on CUDA when the
    engine is made, elsewhere 2 GiB. block_tokens: of one block; None puts each page into a single one.

    max_tokens: prompt and output of one page. prefill_tokens: prompt tokens of one forward pass. refill: how many slots
    must be free before prompts are prefilled again, None for a sixteenth of them rounded up; a prefill of one page
    costs nearly as much as one of several. lag: steps launched before the host has checked the last one, 0 or 1; None
    is 1 on CUDA. kernels: whether Triton's run where they can; else PyTorch's operators do, and the cache holds one
    page of max_tokens whatever kv_bytes and kv_share say. graphs: None captures steps on CUDA, in bf16.
    """

    slots: int = 256
    kv_bytes: int | None = None
    kv_share: float = 0.7
    block_tokens: int | None = 64
    max_tokens: int = 8192
    prefill_tokens: int = 16384
    refill: int | None = None
    lag: int | None = None
    kernels: bool = True
    graphs: bool | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Page:
    """A sequence: a page being read, with its row and blocks.

    prompt: makes its embeddings [num_prompt, D]; called once for every prefill. index: its position among the pages
    that come, from 0. fed: tokens that are or will be in the cache after the prompt.
    row: its slot, None while it waits. plan: its row of the step's plan. generation: results of launches made under an
    earlier generation are discarded. calm: while it has fewer tokens than this, a token that does not end it is taken
    unchecked (ocr.decoding.sequence.page_reading.PageReading.calm_until).
    entered: the clock's share when it was admitted, None while it waits.
    """

    prompt: Callable[[], Tensor]
    num_prompt: int
    reading: PageReading
    index: int = 0
    order: int = 0
    prefill_s: float = 0.0
    generate_s: float = 0.0
    entered: float | None = None
    fed: list[int] = field(init=False)
    row: int | None = None
    plan: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    blocks: list[int] = field(default_factory=list)
    generation: int = 0
    calm: int = 0

    def __post_init__(self) -> None:
        self.fed = self.reading.tokens

    @property
    def length(self) -> int:
        """The tokens in the cache at the next launch."""
        return int(self.plan[0])

    @length.setter
    def length(self, tokens: int) -> None:
        self.plan[0] = tokens

    @property
    def num_tokens(self) -> int:
        """The tokens of the prompt and of the text written so far."""
        return self.num_prompt + len(self.fed)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One page in a record. source: its row in the numbers and logits. position: at which its token will be fed.

    banned: for a token chosen again, the banned tokens.
    """

    page: Page
    generation: int
    source: int
    position: int
    banned: frozenset[int] = frozenset()

    @property
    def counts(self) -> bool:
        """True if the page has neither ended nor been rewound since the launch."""
        return self.page.generation == self.generation

    def rewound(self, source: int) -> "Entry":
        """Rewinds the page to this position, where its token is chosen again; returns the entry of that choice."""
        self.page.generation += 1
        self.page.length = self.position
        return replace(self, generation=self.page.generation, source=source)


@dataclass(slots=True, kw_only=True)
class Record:
    """Results of a launch that the host has not checked yet. step: the number of the decode step, None for a prefill.

    entries: the launch's pages; empty for a step, where making hundreds of entries would be expensive: rows, pages and
    generations hold a step's instead.
    logits_NV, seconds: a prefill's; its duration is known once its numbers are here. again: whether the tokens were
    chosen again.
    """

    pending: Pending
    entries: Sequence[Entry] = ()
    rows: npt.NDArray[np.int64] | None = None
    pages: Sequence[Page] = ()
    generations: Sequence[int] = ()
    step: int | None = None
    logits_NV: Tensor | None = None
    seconds: Callable[[], float] | None = None
    again: bool = False
