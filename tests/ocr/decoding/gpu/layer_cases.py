"""One decode step of a small model with its layers fused or as transformers has them."""

import torch
from torch import Tensor

from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.layers import fused_layers
from ocr.decoding.gpu.forward.paged_attention import StepCache, paged_forward
from tests.ocr.tiny_reader import RandomReader


def one_step(
    reader: RandomReader, *, fused: bool, layers: bool, lengths: tuple[int, ...]
) -> tuple[Tensor, BlockPool]:
    """A step over random caches of these lengths: hidden states [S, 1, D], and the cache."""
    model, weight = reader.language_model, reader.lm_head.weight
    shape = PoolShape.of(model, weight.dtype, 16)
    most = shape.blocks(max(lengths) + 1)
    pool = BlockPool(shape, (1 + most * len(lengths)) * shape.block_bytes, weight.device)
    generator = torch.Generator().manual_seed(0)
    for states in (*pool.keys, *pool.values):
        states.copy_(torch.randn(states.shape, generator=generator))
    blocks = 1 + torch.randperm(most * len(lengths), generator=generator).view(len(lengths), most)
    plan = torch.cat((torch.tensor(lengths)[:, None], blocks), 1).int().to(weight.device)
    embeds = torch.randn(len(lengths), 1, 64, generator=generator).to(weight)
    cache = StepCache(pool, plan, fused=fused)

    def run() -> Tensor:
        with paged_forward(model.config):
            hidden: Tensor = model(
                inputs_embeds=embeds,
                position_ids=plan[:, :1].long(),
                attention_mask={"full_attention": None},
                past_key_values=cache,
                use_cache=True,
                paged=cache,
            ).last_hidden_state
        return hidden

    with torch.inference_mode():
        if not layers:
            return run(), pool
        with fused_layers(model):
            return run(), pool
