"""Maps the published checkpoint's tensor names to their places in the model."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from ocr.model.deepseek_ocr import OcrModel

_EXPERTS = ".mlp.experts."
# Of models that were trained with a head for characters, which is not read any more.
CHARACTER_HEAD = "model.character_head."


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one published tensor: a whole parameter, or the part of it that `index` selects."""

    parameter: str
    index: tuple[int | slice, ...] | None
    shape: tuple[int, ...]


def slots(model: OcrModel) -> dict[str, Slot]:
    """Returns the place of each published name. All experts of a layer are in one parameter."""
    return dict(_slots(model))


def ignored(model: OcrModel) -> frozenset[str]:
    """Returns names that a checkpoint may hold although the model does not use them, beside those of CHARACTER_HEAD."""
    unused = {
        "model.vision_model.embeddings.patch_embedding.weight",  # SAM's features take the patches' place
    }
    if model.config.language.tie_word_embeddings:
        unused.add("lm_head.weight")
    return frozenset(unused)


def _slots(model: nn.Module) -> Iterator[tuple[str, Slot]]:
    for name, parameter in model.named_parameters():
        key = _published(name)
        if _EXPERTS in key:
            yield from _expert_slots(name, key.split(_EXPERTS)[0], parameter)
        else:
            yield key, Slot(name, None, tuple(parameter.shape))


def _published(name: str) -> str:
    for prefix in ("encoder.", "language_model."):
        if name.startswith(prefix):
            return "model." + name.removeprefix(prefix)
    return name


def _expert_slots(name: str, layer: str, parameter: torch.Tensor) -> Iterator[tuple[str, Slot]]:
    num_experts, rows, columns = parameter.shape
    for expert in range(num_experts):
        prefix = f"{layer}{_EXPERTS}{expert}"
        if name.endswith("down_proj"):
            yield f"{prefix}.down_proj.weight", Slot(name, (expert,), (rows, columns))
        else:
            half = rows // 2
            yield f"{prefix}.gate_proj.weight", Slot(name, (expert, slice(0, half)), (half, columns))
            yield f"{prefix}.up_proj.weight", Slot(name, (expert, slice(half, rows)), (half, columns))
