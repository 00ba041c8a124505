"""Loads Unlimited-OCR from its published files: transformers' class holds the weights, our encoder runs over them.

Its processor, which needs torchvision, is not used: pages are cut by `unlimited_views`, prompts made here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import UnlimitedOcrConfig
from transformers.modeling_outputs import BaseModelOutputWithPooling

from encoders.deepseek.deep_encoder import DeepEncoder
from encoders.deepseek.from_transformers import encoder_of, page_tokens, vision_config
from encoders.square_views import SquareViewsEncoder
from encoders.views import PageViews
from ocr.decoding.requests import PageRequest
from ocr.errors import CheckpointError
from ocr.families.catalogue.known_model import known_model
from ocr.families.family import Loading
from ocr.families.generation.generate_engine import PromptedPage, TransformersReader, padded
from ocr.families.generation.transformers_loading import load_class, reader_fields, refusals
from ocr.families.unlimited_ocr.unlimited_views import UnlimitedViews, read_views
from ocr.imaging.tiling import Mode
from ocr.model.deepseek_ocr import OcrConfig
from ocr.model.prompt import IMAGE_TAG, PromptIds, encode_prompt
from ocr.model_files.locate import read_tokenizer

_TYPE = "unlimited_ocr"
_SLIDING_WINDOW = 128
_SLIDING_ATTENTION = "reference_sliding_attention"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnlimitedReader(TransformersReader):
    """encoder: over the model's weights. views: what pages are cut into. prompt_ids: of the prompt around pages."""

    encoder: DeepEncoder
    views: UnlimitedViews
    prompt_ids: PromptIds

    def vision_encoder(self, mode: Mode) -> SquareViewsEncoder:
        """Returns the encoder. The mode is its processor's, not the configured one."""
        return SquareViewsEncoder(self.encoder, self.views.side_px, has_tiles=self.views.has_tiles)

    @torch.inference_mode()
    def reference_features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' vision tokens as transformers' own class computes them, one page at a time."""
        return [page_tokens(self.model.base_model, [page])[0] for page in pages]

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns pages with their prompt's tokens: their place is as long as they have vision tokens.

        Raises: PromptError for a request's prompt that does not say `<image>` once.
        """
        around = self.prompt_ids
        if request.prompt is not None:
            around = encode_prompt(self.tokenizer, request.prompt, bos_id=around.before[0])
        image = [self.model.config.image_token_id] * sum(len(item.tokens_TD) for item in request.items)
        ids = [*around.before, *image, *around.after]
        return PromptedPage(
            request=request, prompt=torch.tensor(ids, device=self.device), num_tokens=len(ids)
        )

    def inputs(self, pages: Sequence[PromptedPage]) -> dict[str, Any]:
        """Returns generate's arguments for pages together, padded on the left.

        Padding is kept with the prompt, which attention never forgets, and is masked there.
        """
        rows = [page.prompt for page in pages]
        features = [item.tokens_TD for page in pages for item in page.request.items]
        return {
            "input_ids": padded(rows, self.pad_id),
            "attention_mask": padded([torch.ones_like(row) for row in rows]),
            "mm_encoder_outputs": {"image": BaseModelOutputWithPooling(pooler_output=features)},
        }


def load(asked: Loading) -> UnlimitedReader:
    """Returns the model. Raises: CheckpointError; PromptError for a prompt without a place for the page."""
    facts = asked.facts()
    known = known_model(facts).model
    tokenizer = read_tokenizer(asked.directory / "tokenizer.json")
    image_id = tokenizer.token_to_id(IMAGE_TAG)
    if image_id is None:
        raise CheckpointError(
            f"{asked.directory / 'tokenizer.json'} has no token {IMAGE_TAG!r}; use the one published with the model"
        )
    with refusals(asked.directory, _TYPE):
        config = model_config(facts.config)
        config.image_token_id = image_id
        model = load_class(asked, config)
    hide_padding(model.base_model.language_model)
    encoder = encoder_of(model.base_model)
    if asked.device == "cuda":
        encoder.store_channels_last()
    fields = reader_fields(asked, known, model, tokenizer, pad_id=None)
    return UnlimitedReader(
        **fields,
        encoder=encoder,
        views=read_views(asked.directory),
        prompt_ids=encode_prompt(tokenizer, fields["prompt"], bos_id=config.text_config.bos_token_id),
    )


def model_config(raw: Mapping[str, Any]) -> UnlimitedOcrConfig:
    """Returns transformers' configuration by a config.json: transformers' own, or of the publisher's layout.

    transformers takes the sizes of the publisher's vision encoder as given, and would not read others.
    Raises: CheckpointError.
    """
    if "language_config" not in raw:
        return UnlimitedOcrConfig.from_dict({**raw, "model_type": _TYPE})
    sizes = OcrConfig.from_json({**raw, "model_type": "deepseek_vl_v2"})
    text = sizes.language.to_transformers().to_dict()
    del text["layer_types"]  # by default every layer's attention slides
    return UnlimitedOcrConfig(
        vision_config=vision_config(sizes.encoder),
        text_config={**text, "sliding_window": raw.get("sliding_window", _SLIDING_WINDOW)},
        tie_word_embeddings=False,
    )


def hide_padding(language_model: Any) -> None:
    """Has transformers' UnlimitedOcrTextModel attend to no padding, which is on the left, at every step.

    Its attention sees the whole prompt and the last tokens written. Where older ones have left the cache, transformers
    (5.23) looks up the prompt's padding as many places too far on as have left, so that a page that is padded sees more
    of its padding with every token: its text is another than it is alone. Here a step's masks are made of what is
    cached.
    """
    language_model.register_forward_pre_hook(_with_own_masks, with_kwargs=True)


def _with_own_masks(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """Returns the arguments of a forward with masks by kind of layer; None leaves a prompt and a single page."""
    cache, mask_BL, embeds_BTD = kwargs["past_key_values"], kwargs["attention_mask"], kwargs["inputs_embeds"]
    if cache is None or cache.get_seq_length() == 0 or not isinstance(mask_BL, Tensor) or len(mask_BL) == 1:
        return None
    assert embeds_BTD.shape[1] == 1, "after the prompt there is one token a step"
    masks = {"full_attention": _added(mask_BL.bool(), embeds_BTD.dtype)}
    sliding = next((layer for layer in cache.layers if layer._layer_type == _SLIDING_ATTENTION), None)
    if sliding is not None:
        num_cached, _ = sliding.get_mask_sizes(1)
        num_recent = num_cached - sliding.prefill_length
        visible_BL = torch.cat([mask_BL[:, : sliding.prefill_length], mask_BL[:, -num_recent:]], dim=1)
        masks[_SLIDING_ATTENTION] = _added(visible_BL.bool(), embeds_BTD.dtype)
    return args, {**kwargs, "attention_mask": masks}


def _added(visible_BL: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns what is added to the attention's scores, [B, 1, 1, L]."""
    nothing = torch.zeros((), dtype=dtype, device=visible_BL.device)
    hidden = torch.full_like(nothing, torch.finfo(dtype).min)
    return torch.where(visible_BL, nothing, hidden)[:, None, None, :]
