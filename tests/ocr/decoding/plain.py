"""Plain greedy decoding, one page, one token a forward, with transformers' own cache: what the engine must equal."""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache

from encoders.types import VisionTokens
from ocr.decoding.sequence.page_reading import DecodeSettings, start_reading
from ocr.model.prompt import PromptIds, encode_prompt
from ocr.types import Transcript


def splice(embed_tokens: Any, ids: PromptIds, vision: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The language model's input for each page, [L, D]."""
    device = embed_tokens.weight.device
    before_TD, after_TD = (
        embed_tokens(torch.tensor(part, dtype=torch.long, device=device)) for part in (ids.before, ids.after)
    )
    return [torch.cat((before_TD, tokens_TD.to(before_TD), after_TD)) for tokens_TD in vision]


@torch.inference_mode()
def read_plainly(
    reader: Any,
    vision: VisionTokens,
    prompt: str,
    limits: DecodeSettings,
) -> tuple[Transcript, list[float]]:
    """The transcript, and before each written token how far the model's first two choices were apart."""
    language_model = reader.model.language_model
    ids = encode_prompt(reader.tokenizer, prompt, bos_id=reader.bos_id)
    embed = language_model.get_input_embeddings()
    (embeds,) = splice(embed, ids, [vision.tokens_TD])
    page = start_reading(reader, len(embeds), limits)
    cache = DynamicCache()
    gaps: list[float] = []
    goes_on = page.budget > 0
    while goes_on:
        hidden = language_model(
            inputs_embeds=embeds[None], past_key_values=cache, use_cache=True
        ).last_hidden_state
        logits = reader.model.lm_head(hidden[0, -1]).float().cpu()
        gaps.append(float(-logits.topk(2).values.diff()))
        logprobs, noise = logits.log_softmax(-1), page.noise(len(logits))
        allowed = logits.clone() if noise is None else logits + noise
        allowed[list(page.ban.banned())] = -torch.inf
        token = int(allowed.argmax())
        goes_on = page.take(token, float(logprobs[token]), reader.eos_id)
        embeds = embed(torch.tensor([token], device=embeds.device))
    return page.transcript(reader.tokenizer), gaps


def plain_texts(
    reader: Any, pages: Sequence[VisionTokens], *, prompt: str, settings: Sequence[DecodeSettings]
) -> list[Transcript]:
    """Each page's transcript, as read_plainly has it."""
    return [
        read_plainly(reader, page, prompt, limits)[0] for page, limits in zip(pages, settings, strict=True)
    ]


def assert_same(found: Transcript, plain: Transcript, gaps: list[float], tolerance: float = 1e-4) -> None:
    """Equal, or parted where the first two choices were within 1e-3."""
    pairs = zip(found.token_ids, plain.token_ids, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), None)
    if same is not None:
        assert gaps[same] < 1e-3, f"token {same} differs"
        return
    assert (found.token_ids, found.raw, found.finish) == (plain.token_ids, plain.raw, plain.finish)
    assert len(found.logprobs) == len(plain.logprobs)
    worst = max((abs(a - b) for a, b in zip(found.logprobs, plain.logprobs, strict=True)), default=0.0)
    assert worst < tolerance
