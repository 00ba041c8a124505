"""Runs the model on the device: prefills into the pool, and decode steps of a fixed number of rows, as CUDA graphs.

Shapes: S slots, V vocabulary, P = 1 + max_blocks (ocr.decoding.gpu.kernels.paged_kernels: plan), N prompts of L
tokens, D width.
"""

from collections import deque
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ocr.decoding.gpu.forward.block_pool import SCRATCH, BlockPool
from ocr.decoding.gpu.forward.choices import choose_allowed, choose_into, upload, upload_all
from ocr.decoding.gpu.forward.paged_attention import kernels_take
from ocr.decoding.gpu.forward.pending import NUM_IN_FLIGHT, Landing, Moment, Pending, Prefilled
from ocr.decoding.gpu.forward.prefill import trial_tokens
from ocr.decoding.gpu.forward.step_graphs import StepGraphs
from ocr.decoding.gpu.forward.text_forward import TextForward

# Not cuDNN's, which makes a plan for every length.
_PREFILL = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class _Part(NamedTuple):
    """Views of the first rows of a step's tensors; kept, as slicing takes the host as long as launching a copy."""

    current_SV: Tensor
    previous_SV: Tensor
    plan_SP: Tensor
    results_S2: Tensor


class DeviceSteps:
    """The model with its state on the device. Nothing here waits for the device except Pending.rows().

    Rows are slots: row r's next token is the one that the step before left on the device, unless the host overrides it.
    max_tokens: prompt and output of one page. kernels: whether Triton's run where they can. graphs: whether steps are
    captured, on CUDA only; None captures them in bf16 alone: in other formats the experts' weights are copied for every
    row of a captured step.
    current, previous: [S, V], the last two steps' logits in the number format of the model's head.
    max_blocks: of one page.
    """

    def __init__(
        self,
        model: Any,
        pool: BlockPool,
        *,
        slots: int,
        max_tokens: int,
        kernels: bool = True,
        graphs: bool | None = None,
    ) -> None:
        self._model = model
        self._language = model.language_model
        self.pool = pool
        self.slots = slots
        weight = model.lm_head.weight
        self.device: torch.device = weight.device
        on_cuda = self.device.type == "cuda"
        self.fused = kernels and kernels_take(self.device, pool.shape.head_dim)
        self.graphs = self.fused and weight.dtype == torch.bfloat16 if graphs is None else graphs
        self._forward = TextForward(model, pool, fused=self.fused, captured=self.graphs)
        self.max_blocks = pool.shape.blocks(max_tokens)
        self.plan = np.zeros((slots, 1 + self.max_blocks), dtype=np.int32)
        shape = self.plan.shape
        plans = [torch.zeros(shape, dtype=torch.int32, pin_memory=on_cuda) for _ in range(NUM_IN_FLIGHT)]
        self._plans = deque((plan_SP, plan_SP.numpy()) for plan_SP in plans)
        self._plan_SP = torch.zeros(shape, dtype=torch.int32, device=self.device)
        self._tokens_S = torch.zeros(slots, dtype=torch.long, device=self.device)
        self._results_S2 = torch.zeros(slots, 2, device=self.device)
        self.current, self.previous = (
            torch.zeros(slots, weight.shape[0], dtype=weight.dtype, device=self.device) for _ in range(2)
        )
        self._parts: dict[int, _Part] = {}
        self._last_rows = 0
        self._landing = Landing(slots, self.device)
        self._graphs = StepGraphs(slots)

    def bucket(self, rows: int) -> int:
        """Returns the rows that a step of this many rows runs with."""
        return self._graphs.bucket(rows) if self.graphs else rows

    def captured_for(self, rows: int) -> int | None:
        """Returns the smallest captured size that takes these rows without being far too large."""
        return self._graphs.fitting(rows)

    def to_capture(self, rows: int) -> int | None:
        """Returns the rows to capture before the next such step, or None. Called once for each step."""
        return self._graphs.to_capture(rows) if self.graphs else None

    def step(self, rows: int) -> Pending:
        """Launches a step of one token for each of the first rows of self.plan.

        Returns [rows, 2]: token and log probability.
        """
        if self._last_rows:
            last = self._part(self._last_rows)
            last.previous_SV.copy_(last.current_SV)
        size = rows
        if self.graphs:
            size = self._graphs.usable(rows) or self.capture(self.bucket(rows))
        staged, values = self._plans[0]
        self._plans.rotate(-1)
        values[:size] = self.plan[:size]
        self._part(size).plan_SP.copy_(staged[:size], non_blocking=True)
        if self.graphs:
            self._graphs.replay(size)
        else:
            self._step(size)
        self._last_rows = size
        return self._landing.bring(self._part(rows).results_S2)

    def capture(self, rows: int) -> int:
        """Captures the step of this many rows. The rows' tokens are kept; the last step's results are lost."""
        kept = self._tokens_S.clone()
        self._plan_SP.zero_()
        self._graphs.capture(partial(self._step, rows), rows, self.device)
        self._tokens_S.copy_(kept)
        return rows

    def prefill(
        self, prompts_NLD: Tensor, blocks: Sequence[Sequence[int]], rows: Sequence[int]
    ) -> "Prefilled":
        """Prefills prompts of equal length into these blocks; their first tokens are fed to these rows."""
        began = Moment.now(self.device)
        blocks_NB = upload([block for page in blocks for block in page], self.device).view(len(rows), -1)
        with sdpa_kernel(_PREFILL):
            hidden_ND = self._forward.last_states(prompts_NLD, blocks_NB)
        logits_NV: Tensor = self._model.lm_head(hidden_ND)
        tokens_N = torch.empty(len(rows), dtype=torch.long, device=self.device)
        results_N2 = torch.empty(len(rows), 2, device=self.device)
        choose_into(logits_NV, tokens_N, results_N2, fused=self.fused)
        self._tokens_S.index_copy_(0, upload(rows, self.device), tokens_N)
        ended = Moment.now(self.device)
        return Prefilled(logits_NV=logits_NV, pending=Pending.of(results_N2), began=began, ended=ended)

    def try_prompts(self) -> None:
        """Compiles the kernels of a prefill. Keys and values go to the scratch block; no row may be in use."""
        if not self._forward.prefills:
            return
        weight = self._model.lm_head.weight
        for length in trial_tokens(self._language):
            embeds = torch.zeros(1, length, weight.shape[1], dtype=weight.dtype, device=self.device)
            self.prefill(embeds, [[SCRATCH] * self.pool.shape.blocks(length)], [0]).pending.rows()

    def choose_again(
        self,
        logits_SV: Tensor,
        sources: Sequence[int],
        banned: Sequence[Collection[int]],
        rows: Sequence[int],
        noise: Sequence[Tensor | None] = (),
    ) -> Pending:
        """Chooses another token for some rows from their logits (choices.choose_allowed) and feeds it to them next."""
        from_, to = upload_all((sources, rows), self.device)
        found_R2 = choose_allowed(logits_SV[from_], banned, noise)
        self._tokens_S.index_copy_(0, to, found_R2[:, 0].long())
        return Pending.of(found_R2)

    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Moves the next tokens of the source rows to the target rows. The caller moves their plan."""
        moved = self._tokens_S[upload(sources, self.device)]
        self._tokens_S.index_copy_(0, upload(targets, self.device), moved)

    def _part(self, rows: int) -> "_Part":
        part = self._parts.get(rows)
        if part is None:
            tensors = (self.current, self.previous, self._plan_SP, self._results_S2)
            part = self._parts[rows] = _Part(*(tensor[:rows] for tensor in tensors))
        return part

    def _step(self, rows: int) -> None:
        plan_SP, tokens_S = self._plan_SP[:rows], self._tokens_S[:rows]
        logits_SV = self.current[:rows]
        self._forward.logits_into(self._forward.step_states(plan_SP, tokens_S), logits_SV)
        choose_into(logits_SV, tokens_S, self._results_S2[:rows], fused=self.fused)
