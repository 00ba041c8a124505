"""Stores weights in eight bits: int8 values with one float16 scale a row, deflated; expanded when loaded.

A tensor stored this way is `<key>` beside `<key>.scale` (float16, [rows]). `<key>` holds the values in row-major order
as one zlib stream (uint8), or plainly (int8, the tensor's own shape). Weights are most often near 0, so the stream's
Huffman code takes some 7.3 bits a value, and 1.6 fewer where the steps are three times as wide.
"""

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn

SCALE_SUFFIX = ".scale"
_MOST = 127


def quantise(tensor: Tensor, wide: int = 1) -> tuple[Tensor, Tensor]:
    """Returns int8 values of the tensor's shape and float16 scales [rows]; symmetric, -127..127.

    wide: how many times as wide as need be the steps are: fewer are smaller once deflated. Odd, as values that
    were rounded before are then off by less than half a step.
    The error of a value is at most its row's largest magnitude / 254 * wide, plus float16's rounding of the scale.
    """
    matrix = _rows(tensor).float()
    scale = (matrix.abs().amax(dim=1) / _MOST * wide).clamp(min=2**-20).half()
    values = (matrix / scale.float()[:, None]).round().clamp(-_MOST, _MOST).to(torch.int8)
    return values.view(tensor.shape), scale


def expand(values: Tensor, scale: Tensor) -> Tensor:
    """Returns the float32 tensor that quantise stored, of the values' shape."""
    return _rows(values).float().mul_(scale.float()[:, None]).view(values.shape)


def deflated(values: Tensor) -> Tensor:
    """Returns int8 values as a zlib stream, uint8 [bytes]. It looks for no repeats: there are none."""
    coder = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_HUFFMAN_ONLY)
    stream = coder.compress(values.contiguous().numpy().tobytes()) + coder.flush()
    return torch.frombuffer(bytearray(stream), dtype=torch.uint8)


def inflated(stream: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Returns the int8 values of a stream. Raises: ValueError where it is damaged or of another size."""
    try:
        values = torch.frombuffer(bytearray(zlib.decompress(stream.numpy().tobytes())), dtype=torch.int8)
        return values.view(shape)
    except (zlib.error, RuntimeError) as error:
        raise ValueError(f"no stream of int8 values for {list(shape)}: {error}") from error


def stored(key: str, tensor: Tensor, wide: int = 1) -> Iterator[tuple[str, Tensor]]:
    """Yields what a file holds for a tensor that is quantised: two tensors by their names, on the host.

    wide: as in quantise.
    """
    values, scale = quantise(tensor, wide)
    yield key, deflated(values.cpu())
    yield key + SCALE_SUFFIX, scale.cpu()


def restored(key: str, shape: tuple[int, ...], tensors: Mapping[str, Tensor]) -> Tensor:
    """Returns a tensor as it was before it was stored: quantised ones in float32, others as they are.

    Raises: ValueError as inflated does; KeyError without a scale.
    """
    tensor = tensors[key]
    if tensor.dtype == torch.uint8:
        tensor = inflated(tensor, shape)
    return expand(tensor, tensors[key + SCALE_SUFFIX]) if tensor.dtype == torch.int8 else tensor


def fill(net: nn.Module, file: Path) -> None:
    """Fills a network with the weights in a file, whether stored in eight bits, in float16 or in float32.

    Raises: ValueError, KeyError, RuntimeError where the file's tensors are not the network's.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
    with safe_open(file, framework="pt") as opened:
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (it is no mapping)
    scales = {name + SCALE_SUFFIX for name in shapes}
    unknown = {name: tensor for name, tensor in tensors.items() if name not in shapes and name not in scales}
    net.load_state_dict(unknown | {n: restored(n, s, tensors) for n, s in shapes.items() if n in tensors})


def num_rows(shape: tuple[int, ...] | torch.Size) -> int:
    """Returns the number of output rows of a weight; where its leading axis is 1 (a position grid), of its vectors."""
    return int(shape[0] if shape[0] > 1 else torch.Size(shape[:-1]).numel())


def _rows(tensor: Tensor) -> Tensor:
    return tensor.reshape(num_rows(tensor.shape), -1)
