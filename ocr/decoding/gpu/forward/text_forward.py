"""Runs the text model's forward over the block pool: of whole prompts, and of the rows of a decode step.

Shapes: S rows of a token, P = 1 + max_blocks (ocr.decoding.gpu.kernels.paged_kernels: plan), N prompts of L tokens,
D width, T tokens, V vocabulary.
"""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from ocr.decoding.gpu.forward.block_pool import BlockPool
from ocr.decoding.gpu.forward.layers import MAX_PAIRS, fused_layers, num_experts
from ocr.decoding.gpu.forward.paged_attention import PromptCache, StepCache, paged_forward
from ocr.decoding.gpu.forward.prefill import last_states, takes


class TextForward:
    """The text model over a pool. fused: whether Triton's kernels run. captured: whether steps are captured.

    Where kernels run, layers do with fewer of them (ocr.decoding.gpu.forward.layers). prefills: so do prompts
    (ocr.decoding.gpu.forward.prefill), unless the model is one that this does not know.
    """

    def __init__(self, model: Any, pool: BlockPool, *, fused: bool, captured: bool) -> None:
        self._language: Any = model.language_model
        self._model = model
        self._pool = pool
        self._fused = fused
        self._num_experts = num_experts(self._language)
        self.prefills = fused and takes(self._language)
        weight = model.lm_head.weight
        # Grouped products of other number formats wait for the host, which a graph cannot.
        self._prompt_experts = "grouped_mm" if weight.device.type == "cuda" else None
        is_grouped = weight.dtype == torch.bfloat16
        self._step_experts = "batched_mm" if captured and not is_grouped else self._prompt_experts

    def last_states(self, prompts_NLD: Tensor, blocks_NB: Tensor) -> Tensor:
        """Returns the hidden state of each prompt's last token, [N, D].

        Writes keys and values of all tokens into the blocks.
        """
        if self.prefills:
            return last_states(self._language, prompts_NLD, self._pool, blocks_NB)
        positions = torch.arange(prompts_NLD.shape[1], device=prompts_NLD.device)[None]
        return self._forward(prompts_NLD, positions, PromptCache(self._pool, blocks_NB), None)[:, -1]

    def step_states(self, plan_SP: Tensor, ids_S: Tensor) -> Tensor:
        """Returns the hidden states of a step, [S, D]."""
        embeds_S1D = self._language.get_input_embeddings()(ids_S[:, None])
        cache = StepCache(self._pool, plan_SP, fused=self._fused)
        fuses = self._fused and len(ids_S) * self._num_experts <= MAX_PAIRS
        with fused_layers(self._language) if fuses else nullcontext():
            return self._forward(embeds_S1D, plan_SP[:, :1].long(), cache, cache)[:, -1]

    def logits_into(self, hidden_TD: Tensor, logits_TV: Tensor) -> None:
        """Writes the tokens' logits into a tensor of their shape."""
        head = self._model.lm_head
        if isinstance(head, nn.Linear) and head.bias is None and head.weight.dtype == hidden_TD.dtype:
            torch.mm(hidden_TD, head.weight.t(), out=logits_TV)
        else:
            logits_TV.copy_(head(hidden_TD))

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
