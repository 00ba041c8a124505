"""Every kernel compiles for an H200 at the sizes of the published model; no GPU is needed for that."""

from typing import Any

import pytest

pytest.importorskip("triton")
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from ocr.decoding.gpu.kernels import layer_kernels, paged_kernels, prefill_kernels
from tests.interpreter import not_interpreted

pytestmark = [not_interpreted, pytest.mark.slow]  # the interpreter compiles nothing
SHARED_BYTES = 227 * 1024  # that one program may use on an H200
ATTEND = {"H": 10, "GROUP": 1, "D": 128, "BLOCK": 64, "BLOCK_M": 16}
PRODUCT = {"D": 1280, "INNER": 896, "BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 64}
FEW = {**PRODUCT, "BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 128}
PAIRS = {"E": 64, "PADDED": 64, "K": 6}
TILES = {"D": 1280, "INNER": 896, "E": 64, "PADDED": 64, "num_warps": 8, "num_stages": 4}
LARGE = {**TILES, "BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
MEDIUM = {**TILES, "BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64, "num_warps": 4, "num_stages": 3}
SMALL = {**TILES, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "num_warps": 4}
CASES: list[tuple[Any, str, dict[str, int]]] = [
    (
        paged_kernels.append,
        "bf16 bf16 bf16 bf16 int i i i i i",
        {"H": 10, "D": 128, "BLOCK": 64, "WIDTH": 2048},
    ),
    (paged_kernels.attend, "bf16 bf16 bf16 int bf16 float float f i i i i", {**ATTEND, "SPLITS": 1}),
    (paged_kernels.attend, "bf16 bf16 bf16 int bf16 float float f i i i i", {**ATTEND, "SPLITS": 32}),
    (paged_kernels.attend, "float float float int float float float f i i i i", {**ATTEND, "D": 16, "SPLITS": 2}),
    (paged_kernels.merge, "float float bf16 i", {"D": 128, "SPLITS": 32, "PADDED": 32}),
    (paged_kernels.likeliest_parts, "bf16 float int float i i", {"PARTS": 16, "BLOCK": 2048, "PART": 8192}),
    (paged_kernels.likeliest, "float int float long float i", {"PARTS": 16, "PADDED": 16}),
    (layer_kernels.rms_norm, "bf16 bf16 bf16 i f", {"D": 1280, "WIDTH": 2048}),
    (
        layer_kernels.rotate_append,
        "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 int i i",
        {"H": 10, "GROUP": 1, "D": 128, "BLOCK": 64, "WIDTH_Q": 2048, "WIDTH": 2048},
    ),
    (layer_kernels.silu_product, "bf16 bf16 bf16 i", {"BLOCK": 1024}),
    (layer_kernels.route, "bf16 bf16 long float i f", {"D": 1280, "E": 64, "K": 6, "PADDED": 64, "BLOCK": 128}),
    (layer_kernels.assign, "long int int i", {"PADDED": 2048}),
    (layer_kernels.assign, "long int int i", {"PADDED": 16384}),
    (layer_kernels.gate_up, "bf16 bf16 int int bf16 i i", {**PRODUCT, "K": 6}),
    (layer_kernels.gate_up, "float float int int float i i", {**PRODUCT, "K": 6}),
    (layer_kernels.gate_up, "bf16 bf16 int int bf16 i i", {**FEW, "K": 6}),
    (layer_kernels.down, "bf16 bf16 int int float float i", PRODUCT),
    (layer_kernels.combine, "float bf16", {"D": 1280, "K": 6, "WIDTH": 2048}),
    (prefill_kernels.sum_norm, "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f i", {"D": 1280, "WIDTH": 2048, "K": 0}),
    (prefill_kernels.sum_norm, "bf16 bf16 bf16 int float bf16 bf16 bf16 f i", {"D": 1280, "WIDTH": 2048, "K": 6}),
    (
        prefill_kernels.rotate_write,
        "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 long i i",
        {"H": 10, "GROUP": 1, "D": 128, "BLOCK": 64, "WIDTH_Q": 2048, "WIDTH": 2048},
    ),
    (
        prefill_kernels.route_many,
        "bf16 bf16 int float int i f",
        {**PAIRS, "D": 1280, "BLOCK": 128, "CHUNK": 64},
    ),
    (prefill_kernels.place_pairs, "int int int int int i i", {**PAIRS, "CHUNK": 64, "ROWS": 32}),
    (prefill_kernels.gate_up_tiles, "bf16 bf16 int int bf16", {**LARGE, "K": 6}),
    (prefill_kernels.gate_up_tiles, "bf16 bf16 int int bf16", {**SMALL, "K": 6}),
    (prefill_kernels.gate_up_tiles, "float float int int float", {**SMALL, "K": 6, "BLOCK_M": 32, "BLOCK_N": 32}),
    (prefill_kernels.gate_up_tiles, "bf16 bf16 int int bf16", {**MEDIUM, "K": 6}),
    (prefill_kernels.down_tiles, "bf16 bf16 int bf16", {**MEDIUM, "BLOCK_N": 128}),
    (prefill_kernels.down_tiles, "bf16 bf16 int bf16", {**LARGE, "BLOCK_N": 256}),
    (prefill_kernels.down_tiles, "bf16 bf16 int bf16", {**SMALL, "BLOCK_N": 128}),
]  # fmt: skip
TYPES = {
    "bf16": "*bf16", "float": "*fp32", "int": "*i32", "long": "*i64", "i": "i32", "f": "fp32",
}  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
def test_it_compiles(case: int) -> None:
    kernel, arguments, constants = CASES[case]
    types = iter(arguments.split())
    signature = {name: "constexpr" if name in constants else TYPES[next(types)] for name in kernel.arg_names}
    assert next(types, None) is None
    # Pointers and strides of tensors are multiples of 16.
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, name in enumerate(kernel.arg_names)
        if signature[name] != "constexpr" and signature[name] != "fp32"
    }
    constexprs = {name: value for name, value in constants.items() if name in kernel.arg_names}
    source = ASTSource(kernel, signature, constexprs=constexprs, attrs=aligned)
    options = {"num_warps": constants.get("num_warps", 4), "num_stages": constants.get("num_stages", 3)}
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert compiled.metadata.shared <= SHARED_BYTES
    assert len(compiled.asm["cubin"]) > 0
