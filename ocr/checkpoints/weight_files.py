"""Opens safetensors files, and compares their tensors with those of a model."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from ocr.errors import CheckpointError

Shapes = Mapping[str, tuple[int, ...]]


def open_weights(files: Sequence[Path], stack: ExitStack) -> dict[str, Any]:
    """Returns, for each tensor's name, the open file that holds it. Raises: CheckpointError."""
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


def shapes_of(source: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the tensors that open_weights() found."""
    return {name: tuple(handle.get_slice(name).get_shape()) for name, handle in source.items()}


def check_shapes(expected: Shapes, found: Shapes, files: Sequence[Path], remedy: str) -> None:
    """Raises a CheckpointError that names every kind of mismatch at once. remedy: what to use."""
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
