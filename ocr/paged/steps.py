"""What runs on the device: prompts into the pool, and decode steps of a fixed number of rows, as graphs on CUDA.

Shapes: S slots, V vocabulary, P = 1 + max_blocks (ocr.paged.kernels: plan), N prompts of L tokens, D width.
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ocr.greedy import TextReader
from ocr.paged.attention import StepCache, kernels_take, paged_forward
from ocr.paged.choices import choose_allowed, choose_into, upload
from ocr.paged.layers import MAX_PAIRS, fused_layers
from ocr.paged.pool import BlockPool

BUCKETS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 320, 384, 448, 512)
_NUM_PLANS = 4  # more than steps are ever under way
# Without cuDNN's, which makes a plan for every length.
_PREFILL = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


@dataclass(slots=True)
class Pending:
    """Numbers on their way to the host."""

    host: Tensor
    event: Any = None

    def rows(self) -> list[list[float]]:
        """Waits for them."""
        if self.event is not None:
            self.event.synchronize()
        rows: list[list[float]] = self.host.tolist()
        return rows


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the device's work. at: seconds of the host's clock, where the device does not run beside it."""

    event: Any
    at: float

    @classmethod
    def now(cls, device: torch.device) -> "Moment":
        if device.type == "cpu":
            return cls(None, time.perf_counter())
        event: Any = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return cls(event, 0.0)

    def seconds_to(self, later: "Moment") -> float:
        """Both must be past."""
        if self.event is None:
            return later.at - self.at
        return float(self.event.elapsed_time(later.event)) / 1e3


class PromptCache:
    """past_key_values of a prefill: prompts' keys and values are written to the pool and attended as they are."""

    def __init__(self, pool: BlockPool, blocks_NB: Tensor) -> None:
        self._pool = pool
        self._blocks_NB = blocks_NB

    def update(
        self, keys: Tensor, values: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        self._pool.write_prompts(layer_idx, keys, values, self._blocks_NB)
        return keys, values

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return 0


class DeviceSteps:
    """The model with its state on the device. Nothing here waits for the device except Pending.rows().

    Rows are slots: row r's next token is fed from where the step before left it, unless the host says otherwise.
    max_tokens: prompt and output of one page. graphs: whether steps are captured; on CUDA only, None where the number
    format is bf16: in others the experts' weights are copied for every row of a captured step. layers: whether layers
    run with fewer kernels where Triton runs (ocr.paged.layers).
    current, previous: [S, V], the last two steps' logits in the number format of the model's head.
    """

    def __init__(
        self,
        model: TextReader,
        pool: BlockPool,
        *,
        slots: int,
        max_tokens: int,
        graphs: bool | None = None,
        layers: bool = True,
    ) -> None:
        self._model = model
        self._language = model.language_model
        self.pool = pool
        self.slots = slots
        weight = model.lm_head.weight
        self.device: torch.device = weight.device
        on_cuda = self.device.type == "cuda"
        self.fused = kernels_take(self.device, pool.shape.head_dim)
        self._layers = layers
        grouped = weight.dtype == torch.bfloat16
        self.graphs = self.fused and grouped if graphs is None else graphs
        # Grouped products of other number formats wait for the host, which a graph cannot.
        self._prompt_experts = "grouped_mm" if on_cuda else None
        self._step_experts = "batched_mm" if self.graphs and not grouped else self._prompt_experts
        width = 1 + pool.shape.blocks(max_tokens)
        self.plan = np.zeros((slots, width), dtype=np.int32)
        self._plans = deque(
            torch.zeros(slots, width, dtype=torch.int32, pin_memory=on_cuda) for _ in range(_NUM_PLANS)
        )
        self._plan_SP = torch.zeros(slots, width, dtype=torch.int32, device=self.device)
        self._tokens_S = torch.zeros(slots, dtype=torch.long, device=self.device)
        self._results_S2 = torch.zeros(slots, 2, device=self.device)
        self.current, self.previous = (
            torch.zeros(slots, weight.shape[0], dtype=weight.dtype, device=self.device) for _ in range(2)
        )
        self._last_rows = 0
        self._captured: dict[int, Any] = {}
        self._graph_pool = torch.cuda.graph_pool_handle() if on_cuda else None

    def bucket(self, rows: int) -> int:
        """The rows that a step of so many runs with."""
        if not self.graphs:
            return rows
        return next((size for size in self._buckets() if size >= rows), self.slots)

    def captured_for(self, rows: int) -> int | None:
        """The smallest captured size that takes so many rows without being far too large."""
        fitting = [size for size in self._captured if rows <= size <= 4 * self.bucket(rows)]
        return min(fitting, default=None)

    def step(self, rows: int) -> Pending:
        """One token for each of the first rows, as self.plan has them; [rows, 2]: token and log probability."""
        self.previous[: self._last_rows].copy_(self.current[: self._last_rows])
        size = rows
        if self.graphs:
            size = self.captured_for(rows) or self.capture(self.bucket(rows))
        self._upload_plan(size)
        if self.graphs:
            self._captured[size].replay()
        else:
            self._step(size)
        self._last_rows = size
        return self._send(self._results_S2[:rows])

    def capture(self, rows: int) -> int:
        """Captures the step of so many rows. The rows' own state is as before, but for the logits of the last step."""
        tokens = self._tokens_S.clone()
        self._plan_SP.zero_()
        for _ in range(2):  # compiles kernels and gives libraries their workspaces
            self._step(rows)
        torch.cuda.synchronize(self.device)
        graph = torch.cuda.CUDAGraph()
        # Another thread may be using the device: the encoder.
        with torch.cuda.graph(graph, pool=self._graph_pool, capture_error_mode="thread_local"):
            self._step(rows)
        self._captured[rows] = graph
        self._tokens_S.copy_(tokens)
        return rows

    def prefill(
        self, prompts_NLD: Tensor, blocks: Sequence[Sequence[int]], rows: Sequence[int]
    ) -> "Prefilled":
        """Prompts of equal length into these blocks; their first tokens are fed to these rows."""
        began = Moment.now(self.device)
        blocks_NB = upload([block for page in blocks for block in page], self.device).view(len(rows), -1)
        with sdpa_kernel(_PREFILL):
            positions = torch.arange(prompts_NLD.shape[1], device=self.device)[None]
            hidden = self._forward(prompts_NLD, positions, PromptCache(self.pool, blocks_NB), None)
        logits_NV: Tensor = self._model.lm_head(hidden[:, -1])
        tokens_N = torch.empty(len(rows), dtype=torch.long, device=self.device)
        results_N2 = torch.empty(len(rows), 2, device=self.device)
        choose_into(logits_NV, tokens_N, results_N2, fused=self.fused)
        self._tokens_S.index_copy_(0, upload(rows, self.device), tokens_N)
        ended = Moment.now(self.device)
        return Prefilled(logits_NV=logits_NV, pending=self._send(results_N2), began=began, ended=ended)

    def choose_again(
        self,
        logits_SV: Tensor,
        sources: Sequence[int],
        banned: Sequence[Collection[int]],
        rows: Sequence[int],
        eos_id: int,
    ) -> Pending:
        """Another token for some rows, from their logits: see choices.choose_allowed. It is fed to them next."""
        found_R4 = choose_allowed(logits_SV[upload(sources, self.device)], banned, eos_id)
        self._tokens_S.index_copy_(0, upload(rows, self.device), found_R4[:, 0].long())
        return self._send(found_R4)

    def set_token(self, row: int, token: int) -> None:
        """What is fed to a row next."""
        self._tokens_S[row].fill_(token)

    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """What is fed next to the source rows is fed to the target rows. The plan is the caller's."""
        moved = self._tokens_S[upload(sources, self.device)]
        self._tokens_S.index_copy_(0, upload(targets, self.device), moved)

    def _buckets(self) -> list[int]:
        return [size for size in BUCKETS if size < self.slots] + [self.slots]

    def _upload_plan(self, rows: int) -> None:
        staged = self._plans[0]
        self._plans.rotate(-1)
        staged[:rows].numpy()[:] = self.plan[:rows]
        self._plan_SP[:rows].copy_(staged[:rows], non_blocking=True)

    def _step(self, rows: int) -> None:
        plan_SP, tokens_S = self._plan_SP[:rows], self._tokens_S[:rows]
        embeds_S1D = self._language.get_input_embeddings()(tokens_S[:, None])
        cache = StepCache(self.pool, plan_SP, fused=self.fused)
        with fused_layers(self._language) if self._fuses(rows) else nullcontext():
            hidden_S1D = self._forward(embeds_S1D, plan_SP[:, :1].long(), cache, cache)
        logits_SV = self.current[:rows]
        _head_into(self._model.lm_head, hidden_S1D[:, -1], logits_SV)
        choose_into(logits_SV, tokens_S, self._results_S2[:rows], fused=self.fused)

    def _fuses(self, rows: int) -> bool:
        experts = getattr(self._language.config, "num_experts_per_tok", 1)
        return self.fused and self._layers and rows * experts <= MAX_PAIRS

    def _forward(self, embeds: Tensor, positions: Tensor, cache: object, paged: StepCache | None) -> Tensor:
        experts = self._prompt_experts if paged is None else self._step_experts
        with paged_forward(self._language.config, experts):
            hidden: Tensor = self._language(
                inputs_embeds=embeds,
                position_ids=positions,
                attention_mask={"full_attention": None},
                past_key_values=cache,
                use_cache=True,
                paged=paged,
            ).last_hidden_state
        return hidden

    def _send(self, values: Tensor) -> Pending:
        """To the host, where the device's next results do not overwrite them."""
        if self.device.type == "cpu":
            return Pending(values.clone())
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        return Pending(host, event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefilled:
    """logits_NV: of each prompt's first token. pending: those tokens and their log probabilities."""

    logits_NV: Tensor
    pending: Pending
    began: Moment
    ended: Moment

    def seconds(self) -> float:
        """What it took; after pending.rows()."""
        return self.began.seconds_to(self.ended)


def _head_into(head: Callable[[Tensor], Tensor], hidden_SD: Tensor, logits_SV: Tensor) -> None:
    plain = isinstance(head, nn.Linear) and head.bias is None and head.weight.dtype == hidden_SD.dtype
    if plain:
        torch.mm(hidden_SD, head.weight.t(), out=logits_SV)  # type: ignore[attr-defined]
    else:
        logits_SV.copy_(head(hidden_SD))
