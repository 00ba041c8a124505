"""Fills a model with its published tensors, under their names, converted one by one."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from ocr.errors import CheckpointError
from ocr.model.deepseek_ocr import OcrModel

Shapes = Mapping[str, tuple[int, ...]]
_EXPERTS = ".mlp.experts."
_THREADS = 4
# What a checkpoint may hold besides: SAM's features take the place of CLIP's patches.
IGNORED = ("model.vision_model.embeddings.patch_embedding.weight",)


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one published tensor: a whole parameter, or the part of it that `index` selects."""

    parameter: str
    index: tuple[int | slice, ...] | None
    shape: tuple[int, ...]


def slots(model: OcrModel) -> dict[str, Slot]:
    """Returns the place of each published name. All experts of a layer are in one parameter."""
    return dict(_slots(model))


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


def fill(
    model: nn.Module,
    places: Mapping[str, Slot],
    files: Sequence[Path],
    device: torch.device,
    dtype_of: Callable[[str], torch.dtype],
    *,
    unused: Iterable[str] = (),
    remedy: str = "the config.json published with these weights",
) -> None:
    """Fills a model built on meta with its weights, and leaves it in evaluation mode without gradients.

    places: of the published names. dtype_of: called with a parameter's name. unused: what names begin with that the
    files may hold besides. remedy: what to use instead of files that do not fit. Raises: CheckpointError.
    """
    with ExitStack() as stack:
        opened = _open(files, stack)
        source = {key: handle for key, handle in opened.items() if not key.startswith(tuple(unused))}
        expected = {key: place.shape for key, place in places.items()}
        found = {key: tuple(handle.get_slice(key).get_shape()) for key, handle in source.items()}
        _check_shapes(expected, found, files, remedy)
        likes = {
            name: model.get_parameter(name).to(dtype_of(name))
            for name in dict.fromkeys(place.parameter for place in places.values())
        }
        whole = _read(likes, places, source, device)
    for name, tensor in whole.items():
        module, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(module), leaf, nn.Parameter(tensor, requires_grad=False))
    model.eval()


def _open(files: Sequence[Path], stack: ExitStack) -> dict[str, Any]:
    """Returns, for each tensor's name, the open file that holds it."""
    found: dict[str, Any] = {}
    for file in files:
        try:
            handle = stack.enter_context(safe_open(file, framework="pt"))
        except (SafetensorError, OSError) as error:
            raise CheckpointError(
                f"{file} cannot be read as safetensors ({error}); fetch the file again"
            ) from error
        found.update(dict.fromkeys(handle.keys(), handle))
    return found


def _check_shapes(expected: Shapes, found: Shapes, files: Sequence[Path], remedy: str) -> None:
    """Raises a CheckpointError that names every kind of mismatch at once."""
    misshapen = [
        f"{name} {list(found[name])} instead of {list(shape)}"
        for name, shape in expected.items()
        if found.get(name, shape) != shape
    ]
    faults = [
        _listed("missing tensors", [name for name in expected if name not in found]),
        _listed("unknown tensors", [name for name in found if name not in expected]),
        _listed("tensors of another shape", misshapen),
    ]
    if any(faults):
        where, what = ", ".join(map(str, files)), "; ".join(filter(None, faults))
        raise CheckpointError(f"{where} does not fit its config.json: {what}. Use {remedy}")


def _listed(kind: str, items: Sequence[str], most: int = 8) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return f"{kind}: {', '.join(items[:most])}{more}" if items else ""


def _read(
    likes: Mapping[str, Tensor], places: Mapping[str, Slot], source: Mapping[str, Any], device: torch.device
) -> dict[str, Tensor]:
    """Returns each parameter's values; on a CPU those that need no conversion or joining stay mapped.

    likes: tensors of each parameter's shape and dtype, without values. Several threads read, convert and copy.
    """
    joined = {place.parameter for place in places.values() if place.index is not None}
    made = likes if device.type == "cuda" else joined
    whole = {name: torch.empty_like(likes[name], device=device) for name in made}

    def read(key: str, place: Slot) -> None:
        tensor = source[key].get_tensor(key)
        if place.parameter not in made:
            whole[place.parameter] = tensor.to(likes[place.parameter].dtype)
            return
        target = whole[place.parameter]
        with torch.inference_mode():  # as the caller may be, which is another thread
            (target if place.index is None else target[place.index]).copy_(tensor)

    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()  # earlier work may still use the targets' memory
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="weights") as threads:
        for _ in threads.map(read, places, places.values()):
            pass
    return whole
