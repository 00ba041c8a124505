"""One step of greedy decoding for a batch of pages: the tensors' side.

Shapes: B rows, L tokens, D width, V vocabulary.
"""

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import torch

from ocr.kv_cache import KVCache


class TextReader(Protocol):
    """The part of ocr.model.OcrModel that decoding needs."""

    @property
    def language_model(self) -> Any:
        """transformers' UnlimitedOcrTextModel, every layer with full attention."""

    @property
    def lm_head(self) -> Any:
        """[D] -> [V]."""


class LiveBatch:
    """The pages still being read: their cache and the logits of each one's next token.

    Prompts of equal length are prefilled together, without padding or mask, which leaves attention its
    fastest kernels; different lengths then share a cache, padded on the left.
    logits_BV: fp32, of each row's next token.
    """

    def __init__(self, model: TextReader, prompts: Sequence[torch.Tensor]) -> None:
        """Prefill. prompts: per page [L, D] embeddings on the model's device."""
        self._model = model
        by_length: dict[int, list[int]] = {}
        for row, prompt_LD in enumerate(prompts):
            by_length.setdefault(len(prompt_LD), []).append(row)
        groups = [self._prefill(torch.stack([prompts[row] for row in rows])) for rows in by_length.values()]
        self._cache = KVCache.merged([cache for cache, _ in groups])
        self.logits_BV = torch.cat([logits for _, logits in groups])
        longest = max(by_length)
        padding = [longest - length for length, rows in by_length.items() for _ in rows]
        self._set_padding(padding)
        merged_order = [row for rows in by_length.values() for row in rows]
        if merged_order != sorted(merged_order):
            self.keep([merged_order.index(row) for row in range(len(prompts))])

    def advance(self, tokens_B: torch.Tensor) -> None:
        """Feed each row its chosen token; logits_BV are those of the one after."""
        length = self._cache.get_seq_length()
        embeds_B1D = self._model.language_model.get_input_embeddings()(tokens_B[:, None])
        positions_B1 = (length - self._padding_B)[:, None]
        self.logits_BV = self._forward(embeds_B1D, positions_B1, self._mask(length + 1), self._cache)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order, and no more padding than they need."""
        padding = [self._padding[row] for row in rows]
        drop = min(padding)
        index = torch.tensor(rows, device=self.logits_BV.device)
        self._cache.keep(index, drop=drop)
        self.logits_BV = self.logits_BV.index_select(0, index)
        self._set_padding([count - drop for count in padding])

    def _set_padding(self, padding: list[int]) -> None:
        self._padding = padding
        self._padding_B = torch.tensor(padding, device=self.logits_BV.device)

    def _mask(self, length: int) -> torch.Tensor | None:
        """[B, 1, 1, length] bool, True where a row may look; None when all may look everywhere.

        A GPU's fastest kernel takes no mask; a CPU's handles grouped heads well only with one (a step
        of eight pages in bf16: 9 ms with, 24 without).
        """
        device = self.logits_BV.device
        if not any(self._padding) and device.type != "cpu":
            return None
        seen_BL = torch.arange(length, device=device) >= self._padding_B[:, None]
        return seen_BL[:, None, None, :]

    def _prefill(self, prompts_BLD: torch.Tensor) -> tuple[KVCache, torch.Tensor]:
        cache = KVCache(len(self._model.language_model.layers))
        positions_1L = torch.arange(prompts_BLD.shape[1], device=prompts_BLD.device)[None]
        return cache, self._forward(prompts_BLD, positions_1L, None, cache)

    def _forward(
        self,
        embeds_BLD: torch.Tensor,
        positions: torch.Tensor,
        mask: torch.Tensor | None,
        cache: KVCache,
    ) -> torch.Tensor:
        """fp32 logits [B, V] after the last token. A None mask is causal."""
        hidden_BLD = self._model.language_model(
            inputs_embeds=embeds_BLD,
            position_ids=positions,
            attention_mask={"full_attention": mask},
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state
        logits: torch.Tensor = self._model.lm_head(hidden_BLD[:, -1])
        return logits.float()


def choose(
    logits_BV: torch.Tensor, banned: Sequence[Collection[int]]
) -> tuple[torch.Tensor, list[int], list[float]]:
    """The likeliest allowed token of each row: ids [B] on the device, ids and log probabilities as lists.

    Log probabilities are those before the bans. One synchronisation with the device.
    """
    scores_BV = logits_BV
    pairs = [(row, token) for row, tokens in enumerate(banned) for token in tokens]
    if pairs:
        rows, tokens = torch.tensor(pairs, device=logits_BV.device).T
        scores_BV = logits_BV.index_put((rows, tokens), logits_BV.new_tensor(float("-inf")))
    chosen_B = scores_BV.argmax(-1)
    logprobs_B = logits_BV.gather(1, chosen_B[:, None])[:, 0] - logits_BV.logsumexp(-1)
    # Ids are exact in fp32 up to 2**24, far beyond any vocabulary, so both travel in one copy.
    ids, logprobs = torch.stack((chosen_B.float(), logprobs_B)).tolist()
    return chosen_B, [int(token) for token in ids], logprobs
