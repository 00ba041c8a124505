"""Fills a model with the weights of its files, converted tensor by tensor or streamed to a GPU."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ocr.checkpoints.tensor_names import CHARACTER_HEAD, Slot, ignored, slots
from ocr.checkpoints.weight_files import check_shapes, open_weights, shapes_of
from ocr.checkpoints.weight_streams import all_stored, send
from ocr.errors import CheckpointError
from ocr.int8 import SCALE_SUFFIX, num_rows, restored
from ocr.model.deepseek_ocr import OcrModel


def fill(
    model: OcrModel,
    files: Sequence[Path],
    device: torch.device,
    dtype: torch.dtype,
    encoder_dtype: torch.dtype,
) -> None:
    """Fills a model built on meta with its weights, and leaves it in evaluation mode without gradients."""
    places = slots(model)
    with ExitStack() as stack:
        opened = open_weights(files, stack)
        source = {key: handle for key, handle in opened.items() if not key.startswith(CHARACTER_HEAD)}
        expected = dict(_expected_shapes(places, source))
        unused = ignored(model)
        found = {key: shape for key, shape in shapes_of(source).items() if key not in unused}
        deflated = {key for key in found.keys() & expected.keys() if _dtype(source, key) == "U8"}
        found |= {key: expected[key] for key in deflated}  # their length says nothing
        check_shapes(
            expected,
            found,
            files,
            "the config.json published with these weights, and weights under DeepSeek-OCR's published names",
        )
        likes = {
            name: model.get_parameter(name).to(encoder_dtype if name.startswith("encoder.") else dtype)
            for name in dict.fromkeys(place.parameter for place in places.values())
        }
        read = _stream if device.type == "cuda" else _convert
        whole = read(likes, places, source, files, device)
    for name, tensor in whole.items():
        module, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(module), leaf, nn.Parameter(tensor, requires_grad=False))
    text = model.language_model
    if model.config.language.tie_word_embeddings:
        model.lm_head.weight = text.embed_tokens.weight
    text.rotary_emb = type(text.rotary_emb)(text.config).to(device)  # no checkpoint holds its tables
    model.eval()


def _convert(
    likes: Mapping[str, Tensor],
    places: Mapping[str, Slot],
    source: Mapping[str, Any],
    files: Sequence[Path],
    device: torch.device,
) -> dict[str, Tensor]:
    """Returns each parameter's values, tensor by tensor; those that need no conversion or joining stay mapped.

    likes: tensors of each parameter's shape and dtype, without values.
    """
    whole: dict[str, Tensor] = {}
    for key, place in places.items():
        tensor = _read(source, key, place.shape).to(device, likes[place.parameter].dtype)
        if place.index is None:
            whole[place.parameter] = tensor
            continue
        if place.parameter not in whole:
            whole[place.parameter] = _room(likes[place.parameter], device)
        whole[place.parameter][place.index] = tensor
    return whole


def _stream(
    likes: Mapping[str, Tensor],
    places: Mapping[str, Slot],
    source: Mapping[str, Any],
    files: Sequence[Path],
    device: torch.device,
) -> dict[str, Tensor]:
    """Returns each parameter's values, read straight into the device's memory; eight bits through the host's."""
    whole = {name: _room(like, device) for name, like in likes.items()}
    stored = all_stored(files)
    streamed = []
    for key, place in places.items():
        target = whole[place.parameter] if place.index is None else whole[place.parameter][place.index]
        if key in stored:
            streamed.append((stored[key], target))
        else:
            target.copy_(_read(source, key, place.shape))
    try:
        send(streamed, device)
    except (OSError, EOFError) as error:
        raise CheckpointError(f"{files[0].parent} cannot be read ({error}); fetch the model again") from error
    return whole


def _room(like: Tensor, device: torch.device) -> Tensor:
    """Returns a new tensor on the device; empty_like() of a meta tensor would make PyTorch import its compiler."""
    return torch.empty(like.shape, dtype=like.dtype, device=device)


def _read(source: Mapping[str, Any], key: str, shape: tuple[int, ...]) -> Tensor:
    names = [name for name in (key, key + SCALE_SUFFIX) if name in source]
    try:
        return restored(key, shape, {name: source[name].get_tensor(name) for name in names})
    except ValueError as error:
        raise CheckpointError(f"{key} cannot be read ({error}); fetch the model again") from error


def _expected_shapes(
    places: Mapping[str, Slot], source: Mapping[str, Any]
) -> Iterable[tuple[str, tuple[int, ...]]]:
    for key, place in places.items():
        yield key, place.shape
        if key in source and _dtype(source, key) in ("I8", "U8"):
            yield key + SCALE_SUFFIX, (num_rows(place.shape),)


def _dtype(source: Mapping[str, Any], key: str) -> str:
    dtype: str = source[key].get_slice(key).get_dtype()
    return dtype
