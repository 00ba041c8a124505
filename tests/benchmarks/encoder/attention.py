"""Times the encoder's own kernels on a CUDA device with Triton, in bfloat16, against PyTorch's operators:

python -m tests.benchmarks.encoder.attention kernels.json

Covers windows of a page, with and without their projection; sums, norms and activations; global attention. Each method
is captured in a CUDA graph and replayed, so that no launch from Python is timed; figures are medians over replays. Data
that fits the cache (6 MB and the like) is then read from it, as in the encoder. Errors are relative, of the first page
or of all rows, against float32. A method that fails (too much shared memory) is reported and left out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from encoders.attention import fused_grid, fused_windows
from encoders.attention.fused_grid import default_config
from encoders.attention.fused_windows import default_window_config
from encoders.attention.plain import grid_attention, join_windows, split_windows
from encoders.deepseek.sam import key_axes
from encoders.pointwise import fused, linear_gelu, quick_gelu, torch_operators
from tests.benchmarks.device_rig import (
    DeviceClock,
    Found,
    device_of,
    reported,
    run_sections,
    sections_parser,
)
from tests.encoders.attention.attention_cases import (
    Case,
    PageCase,
    page_reference,
    random_case,
    random_page,
    reference,
    relative_error,
)
from tests.encoders.pointwise.pointwise_cases import random_norm

HEADS = 12
WINDOW = 14
PAGES = ((1, 64), (8, 64), (32, 64), (6, 40), (48, 40), (96, 40))  # batch, side
GLOBAL = ((1, 64), (8, 64), (6, 40), (48, 40))
SAM_ROWS = (4096, 131072, 9600, 153600)
CLIP_ROWS = (257, 8224)
OURS = "ours"
Call = Callable[[], Tensor]


class Rows:
    """The figures of a section's shapes: of each method milliseconds, its rate and, where it is exact, its error."""

    def __init__(self, clock: DeviceClock) -> None:
        self._clock = clock
        self.found: Found = {}

    def add(
        self,
        shape: str,
        methods: Mapping[str, Call],
        want: Tensor,
        *,
        flop: float | None = None,
        num_bytes: float | None = None,
        inexact: Collection[str] = (),
    ) -> None:
        """Measures methods for one shape. want: the right result. flop or num_bytes: a call's.

        inexact: methods that compute something else.
        """
        for method, call in methods.items():
            with reported(f"{shape}, {method}"):
                error = None if method in inexact else relative_error(call()[: len(want)], want)
                ms = self._clock.ms(self._clock.captured(call), 30)
                self.found[f"{shape}, {method}"] = {
                    "ms": ms,
                    "TFLOP/s": None if flop is None else flop / ms / 1e9,
                    "GB/s": None if num_bytes is None else num_bytes / ms / 1e6,
                    "error": error,
                }
        self._clock.tidy()


def flash(case: Case) -> Tensor:
    """Returns flash attention without positions."""
    q, k, v = case.heads
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = functional.scaled_dot_product_attention(q, k, v, scale=case.scale)
    return out.transpose(1, 2).reshape(*case.qkv.shape[:3], -1)


def with_bias(case: Case) -> Tensor:
    return grid_attention(*case.arguments, None)


def padded_windows(case: PageCase) -> Case:
    """Returns attention's input in SAM's own order of steps: zeros to whole windows, then the projection."""
    zeros = case.x.new_zeros(case.x.shape[-1])
    projected = functional.linear(split_windows(case.x, zeros, WINDOW), case.weight, case.bias)
    return Case(qkv=projected, rows=case.rows, cols=case.cols, num_heads=case.num_heads)


def in_padded_windows(case: PageCase, attend: Callable[[Case], Tensor]) -> Tensor:
    return join_windows(attend(padded_windows(case)), WINDOW, case.x.shape[1])


def windows(rows: Rows) -> None:
    """Measures the attention alone, on a finished projection, then everything from the normed page on."""
    config = default_window_config(WINDOW)
    for batch, side in PAGES:
        case = random_page(side, window=WINDOW, batch=batch, heads=HEADS, dtype=torch.bfloat16, device="cuda")
        page = PageCase(
            x=case.x[:1], weight=case.weight, bias=case.bias, rows=case.rows, cols=case.cols, num_heads=HEADS
        )
        want = page_reference(page, torch.float32)
        shape = f"{batch} x {side}x{side}"
        padded, arguments = padded_windows(case), case.arguments
        flop = 4.0 * len(padded.qkv) * HEADS * WINDOW**4 * 64  # of the two products, edges as whole windows
        alone = {"flash, no positions": partial(flash, padded), "bias": partial(with_bias, padded)}
        rows.add(
            f"attention alone, {shape}",
            {**alone, OURS: partial(fused_windows.launch, *arguments, config)},
            want,
            flop=flop,
            inexact=alone,
        )
        del padded, alone
        rows.add(
            f"with split, projection and join, {shape}",
            {
                "flash, no positions": partial(in_padded_windows, case, flash),
                "bias": partial(in_padded_windows, case, with_bias),
                "projection alone": partial(functional.linear, case.x, case.weight, case.bias),
                OURS: lambda case=case: fused_windows.launch(*case.arguments, config),
            },
            want,
            flop=flop + 2.0 * batch * side * side * 3 * (HEADS * 64) ** 2,
            inexact=("flash, no positions", "projection alone"),
        )


def norms(rows: Rows) -> None:
    for count, width in [(count, 768) for count in SAM_ROWS] + [(count, 1024) for count in CLIP_ROWS]:
        norm, x, delta = random_norm(width, (count,), dtype=torch.bfloat16, device="cuda")
        scale, shift = norm.weight.float(), norm.bias.float()
        launch = partial(
            fused.launch_norm,
            weight=norm.weight, bias=norm.bias, eps=norm.eps, config=fused.default_norm_config(width),
        )  # fmt: skip
        rows.add(
            f"norm, {count} x {width}",
            {
                "PyTorch": partial(functional.layer_norm, x, (width,), norm.weight, norm.bias, norm.eps),
                OURS: lambda launch=launch, x=x: launch(x, None)[1],
            },
            functional.layer_norm(x.float(), (width,), scale, shift, norm.eps),
            num_bytes=2.0 * 2 * count * width,
        )
        rows.add(
            f"sum and norm, {count} x {width}",
            {
                "PyTorch": lambda x=x, delta=delta, norm=norm: torch_operators.add_norm(x, delta, norm)[1],
                OURS: lambda launch=launch, x=x, delta=delta: launch(x, delta)[1],
            },
            functional.layer_norm(x.float() + delta.float(), (width,), scale, shift, norm.eps),
            num_bytes=4.0 * 2 * count * width,
        )


def activations(rows: Rows) -> None:
    for count in SAM_ROWS:
        linear = torch.nn.Linear(768, 3072, device="cuda", dtype=torch.bfloat16)
        x = torch.randn(count, 768, dtype=torch.bfloat16, device="cuda")
        exact = functional.linear(x.float(), linear.weight.float(), linear.bias.float())
        rows.add(
            f"linear and gelu, {count} x 768 x 3072",
            {
                "PyTorch": partial(torch_operators.linear_gelu, x, linear),
                OURS: partial(linear_gelu, x, linear),
            },
            functional.gelu(exact),
            flop=2.0 * count * 768 * 3072,
        )
    for count in CLIP_ROWS:
        x = 2 * torch.randn(count, 4096, dtype=torch.bfloat16, device="cuda")
        rows.add(
            f"quick_gelu, {count} x 4096",
            {
                "PyTorch": partial(torch_operators.quick_gelu, x),
                OURS: partial(quick_gelu, x, inplace=True),
            },
            torch_operators.quick_gelu(x.float()),
            num_bytes=2.0 * 2 * count * 4096,
            inexact=(OURS,),  # a second call takes the first one's output
        )


def whole_views(rows: Rows) -> None:
    for batch, side in GLOBAL:
        case = random_case(side, batch=batch, heads=HEADS, dtype=torch.bfloat16, device="cuda")
        first = Case(qkv=case.qkv[:1], rows=case.rows, cols=case.cols, num_heads=HEADS)
        rows.add(
            f"{batch} x {side}x{side}",
            {
                "flash, no positions": partial(flash, case),
                "bias": partial(with_bias, case),
                "augmented q/k": partial(grid_attention, *case.arguments, key_axes(side, case.rows)),
                OURS: partial(fused_grid.launch, *case.arguments, default_config(side)),
            },
            reference(first, torch.float32),
            flop=4.0 * batch * HEADS * side**4 * 64,  # of the two products, positions not counted
            inexact=("flash, no positions",),
        )


SECTIONS: dict[str, Callable[[Rows], None]] = {
    "windows": windows,
    "norms": norms,
    "activations": activations,
    "global": whole_views,
}


def main(words: Sequence[str] | None = None) -> Found:
    parser = sections_parser(__doc__)
    asked = parser.parse_args(words)
    clock = DeviceClock(device_of(parser, asked))

    def section(measure: Callable[[Rows], None]) -> Found:
        rows = Rows(clock)
        measure(rows)
        return rows.found

    return run_sections({name: partial(section, measure) for name, measure in SECTIONS.items()}, asked, clock)


if __name__ == "__main__":
    main()
