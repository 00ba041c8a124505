"""Runs the model on the device: prefills into the pool, and decode steps of a fixed number of rows, as CUDA graphs.

Shapes: S slots, V vocabulary, P = 1 + max_blocks (ocr.decoding.gpu.kernels.paged_kernels: plan), N prompts of L
tokens, D width.
"""

from collections import deque
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ocr.decoding.gpu.forward.block_pool import SCRATCH, BlockPool
from ocr.decoding.gpu.forward.choices import choose_allowed, choose_into, upload, upload_all
from ocr.decoding.gpu.forward.draft_state import DraftState
from ocr.decoding.gpu.forward.paged_attention import kernels_take
from ocr.decoding.gpu.forward.pending import NUM_IN_FLIGHT, Landing, Moment, Pending, Prefilled
from ocr.decoding.gpu.forward.prefill import Prompts, trial_tokens
from ocr.decoding.gpu.forward.step_costs import MOST_STEP_TOKENS
from ocr.decoding.gpu.forward.step_graphs import StepGraphs
from ocr.decoding.gpu.forward.text_forward import TextForward
from ocr.decoding.sequence.greedy import TextReader

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
    max_tokens: prompt and output of one page. graphs: whether steps are captured, on CUDA only; None captures them in
    bf16 alone: in other formats the experts' weights are copied for every row of a captured step. layers: whether
    layers run with fewer kernels where Triton runs (ocr.decoding.gpu.forward.layers). prompts: how prompts go through
    them, where it does.
    current, previous: [S, V], the last two steps' logits in the number format of the model's head. Steps with drafts
    have too many logits, so their hidden states are kept instead.
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
        prompts: Prompts = "transformers",
    ) -> None:
        self._model = model
        self._language = model.language_model
        self.pool = pool
        self.slots = slots
        weight = model.lm_head.weight
        self.device: torch.device = weight.device
        on_cuda = self.device.type == "cuda"
        self.fused = kernels_take(self.device, pool.shape.head_dim)
        self.graphs = self.fused and weight.dtype == torch.bfloat16 if graphs is None else graphs
        self._forward = TextForward(
            model, pool, fused=self.fused, captured=self.graphs, layers=layers, prompts=prompts
        )
        # A draft that is padded reaches beyond a page's last token.
        self._width = 1 + pool.shape.blocks(max_tokens + MOST_STEP_TOKENS - 1)
        self.plan = np.zeros((slots, self._width), dtype=np.int32)
        # The tokens that the host feeds to each row come after its plan.
        staged = (slots, self._width + MOST_STEP_TOKENS)
        plans = [torch.zeros(staged, dtype=torch.int32, pin_memory=on_cuda) for _ in range(NUM_IN_FLIGHT)]
        self._plans = deque((plan_SP, plan_SP.numpy()) for plan_SP in plans)
        self._plan_SP = torch.zeros(staged, dtype=torch.int32, device=self.device)
        self._tokens_S = torch.zeros(slots, dtype=torch.long, device=self.device)
        self._results_S2 = torch.zeros(slots, 2, device=self.device)
        self.current, self.previous = (
            torch.zeros(slots, weight.shape[0], dtype=weight.dtype, device=self.device) for _ in range(2)
        )
        self._parts: dict[int, _Part] = {}
        self._last_rows = 0
        self._drafts = DraftState(model, slots, self.device)
        self._landing = Landing(max(slots, len(self._drafts.results_T2)), self.device)
        self._graphs = StepGraphs(slots)

    def bucket(self, rows: int) -> int:
        """Returns the rows that a step of this many rows runs with."""
        return self._graphs.bucket(rows) if self.graphs else rows

    def captured_for(self, rows: int, tokens: int = 1) -> int | None:
        """Returns the smallest captured size that takes these rows without being far too large. tokens: fed to each."""
        return self._graphs.fitting(rows, tokens)

    def is_ready(self, rows: int, tokens: int) -> bool:
        """Returns whether such a step runs without being captured first."""
        return not self.graphs or self.captured_for(rows, tokens) is not None

    def to_capture(self, rows: int, tokens: int = 1) -> int | None:
        """Returns the rows to capture before the next such step, or None. Called once for each step."""
        return self._graphs.to_capture(rows, tokens) if self.graphs else None

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
        staged, values = self._next_plan()
        values[:size, : self._width] = self.plan[:size]
        self._part(size).plan_SP.copy_(staged[:size], non_blocking=True)
        if self.graphs:
            self._graphs.replay(size)
        else:
            self._step(size)
        self._last_rows = size
        return self._landing.bring(self._part(rows).results_S2)

    def step_drafts(self, rows: Sequence[int], fed: Sequence[Sequence[int]], tokens: int) -> Pending:
        """Launches a step of this many tokens for each of these rows of self.plan: the fed ones, then padding.

        Returns [len(rows) * tokens, 2]: token and log probability after each. The host decides what is fed next
        (feed()).
        """
        count, width = len(rows), self._width
        self._drafts.keep_last()
        size = count
        if self.graphs:
            size = self._graphs.usable(count, tokens) or self.capture(self.bucket(count), tokens)
        staged, values = self._next_plan()
        values[:count, :width] = self.plan[list(rows)]
        values[count:size] = 0
        padding = [0] * tokens
        values[:count, width : width + tokens] = [[*row, *padding[len(row) :]] for row in fed]
        self._plan_SP[:size].copy_(staged[:size], non_blocking=True)
        if self.graphs:
            self._graphs.replay(size, tokens)
        else:
            self._step_drafts(size, tokens)
        self._drafts.num_last = count * tokens
        return self._landing.bring(self._drafts.results_T2[: count * tokens])

    def draft_logits(self, places: Sequence[int], age: int) -> Tensor:
        """Returns logits [R, V] at these places of the last step with drafts, or of the one before (age 1)."""
        hidden_TD = self._drafts.previous_TD if age else self._drafts.current_TD
        logits: Tensor = self._model.lm_head(hidden_TD[upload(places, self.device)])
        return logits

    def feed(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Sets the tokens that the next step without drafts feeds to these rows."""
        self._tokens_S.index_copy_(0, upload(rows, self.device), upload(tokens, self.device))

    def capture(self, rows: int, tokens: int = 1) -> int:
        """Captures the step of this many rows. The rows' tokens are kept; the last step's results are lost."""
        kept = self._tokens_S.clone()
        self._plan_SP.zero_()
        step = partial(self._step, rows) if tokens == 1 else partial(self._step_drafts, rows, tokens)
        self._graphs.capture(step, rows, tokens, self.device)
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
        if self._forward.prompts == "transformers":
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

    def _next_plan(self) -> tuple[Tensor, npt.NDArray[np.int32]]:
        staged = self._plans[0]
        self._plans.rotate(-1)
        return staged

    def _step(self, rows: int) -> None:
        plan_SP, tokens_S = self._plan_SP[:rows, : self._width], self._tokens_S[:rows]
        hidden_S1D = self._forward.step_states(plan_SP, tokens_S[:, None], plan_SP[:, :1].long())
        logits_SV = self.current[:rows]
        self._forward.logits_into(hidden_S1D[:, -1], logits_SV)
        choose_into(logits_SV, tokens_S, self._results_S2[:rows], fused=self.fused)

    def _step_drafts(self, rows: int, tokens: int) -> None:
        plan_SP = self._plan_SP[:rows, : self._width]
        ids_SQ = self._plan_SP[:rows, self._width : self._width + tokens].long()
        state = self._drafts
        hidden_SQD = self._forward.step_states(plan_SP, ids_SQ, plan_SP[:, :1] + state.places[:tokens])
        hidden_TD = state.current_TD[: rows * tokens]
        hidden_TD.copy_(hidden_SQD.flatten(0, 1))
        logits_TV = torch.empty(
            rows * tokens, self.current.shape[1], dtype=self.current.dtype, device=self.device
        )
        self._forward.logits_into(hidden_TD, logits_TV)
        choose_into(
            logits_TV, state.chosen_T[: rows * tokens], state.results_T2[: rows * tokens], fused=self.fused
        )
