"""Measures what a CUDA device does without the host's part, which the `ocrbatch bench` commands include:

python -m tests.benchmarks.device.device_figures figures.json
python -m tests.benchmarks.device.device_figures figures.json --sections machine,views

Sections: machine; views (DeepSeek-OCR's encoder on batches of views that are on the device, eagerly and replayed, and
the kernels of a forward); attention (its attention against PyTorch's operators, each captured and replayed); steps
(one captured decoding step of each batch at the mean length, and its kernels); prefill (prompts of several pages in
one forward, and its kernels). Models have DeepSeek-OCR's full size, random weights and bfloat16; a page is 903 tokens
of prompt and writes 1,000. After each section the JSON is written; one that fails is reported, and the others go on.
With --quick tiny models show on any device that the program works, but for attention, whose kernels need one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import UnlimitedOcrTextModel

from encoders.attention import plain
from encoders.deepseek.deep_encoder import DeepEncoder, EncoderConfig
from encoders.deepseek.sam import key_axes
from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.model.deepseek_ocr import LanguageConfig
from pipeline.bench.random_model import draw
from pipeline.bench.roofline.bound import prefill_flops, step_weights, view_flops
from pipeline.bench.roofline.rates import Rates, measure_rates
from tests.benchmarks.device.device_rig import (
    DeviceClock,
    Found,
    device_of,
    reported,
    run_sections,
    sections_parser,
)
from tests.encoders.attention.attention_cases import Case, random_case, random_page, relative_error

# Where there is no CUDA device, so that all code here is tried.
_NO_RATES = Rates(matrix_flops_s=1e12, copy_bytes_s=1e11)
_ROOM = 64  # tokens that a page may still write
_HEADS, _WINDOW = 12, 14
Shape = tuple[int, int]  # views or pages of a batch, and the side of each


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The amount of measuring. views: in px; grids: in patches; prompt, output: tokens of a page."""

    encoder: EncoderConfig
    language: LanguageConfig
    views: tuple[Shape, ...] = ((32, 1024), (96, 640), (8, 1024), (48, 640), (1, 1024), (6, 640), (1, 640))
    profiled: tuple[Shape, ...] = ((32, 640), (8, 1024), (1, 1024))
    grids: tuple[Shape, ...] = ((1, 64), (8, 64), (32, 64), (6, 40), (48, 40))
    prompt: int = 903
    output: int = 1000
    batches: tuple[int, ...] = (256, 64, 16, 1)
    pages: tuple[int, ...] = (16, 8, 1)
    repeats: int = 20


FULL = Effort(encoder=EncoderConfig(), language=LanguageConfig())


def quick() -> Effort:
    from tests.ocr.tiny import TINY

    return Effort(
        encoder=TINY.encoder, language=TINY.language, views=((2, 512),), profiled=((1, 512),), grids=(), prompt=20,
        output=24, batches=(4, 1), pages=(2, 1), repeats=2,
    )  # fmt: skip


class Text(nn.Module):
    """The language model and its head, alone."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.language_model = UnlimitedOcrTextModel(config.to_transformers())
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)


class Rig:
    """The models, drawn on the device when they are needed first."""

    def __init__(self, effort: Effort, device: torch.device) -> None:
        self.effort, self.device, self.dtype = effort, device, torch.bfloat16
        self.clock = DeviceClock(device)
        self.rates = measure_rates(device, self.dtype) or _NO_RATES

    @cached_property
    def encoder(self) -> DeepEncoder:
        encoder = self._drawn(lambda: DeepEncoder(self.effort.encoder))
        encoder.store_channels_last()
        return encoder

    @cached_property
    def text(self) -> Any:
        return self._drawn(lambda: Text(self.effort.language))

    def _drawn(self, make: Callable[[], Any]) -> Any:
        with torch.device("meta"):
            model = make()
        draw(model, self.device, self.dtype)
        return model

    def machine(self) -> Found:
        """Returns the machine, and the rates of a large matrix product and of a copy."""
        return {
            "device": torch.cuda.get_device_name(self.device) if self.clock.on_cuda else "cpu",
            "torch": torch.__version__,
            "matrix_tflops_s": self.rates.matrix_flops_s / 1e12,
            "copy_gb_s": self.rates.copy_bytes_s / 1e9,
        }


def views(rig: Rig) -> Found:
    """Returns milliseconds of each batch of views, and the share of the matrix rate."""
    times: Found = {}
    for shape in rig.effort.views:
        forward = _forward(rig, shape)
        flops = shape[0] * view_flops(rig.effort.encoder, shape[1])
        for way, call in (("eager", forward), ("replayed", rig.clock.captured(forward))):
            ms = rig.clock.ms(call, rig.effort.repeats)
            share = flops / ms * 1e3 / rig.rates.matrix_flops_s
            times[f"{shape[0]} x {shape[1]} px, {way}"] = {"ms": ms, "share_of_matrix_rate": share}
        rig.clock.tidy()
    kernels = {
        f"{count} x {px} px": rig.clock.kernels(_forward(rig, (count, px)))
        for count, px in rig.effort.profiled
    }
    return {"times": times, "kernels": kernels}


def _forward(rig: Rig, shape: Shape) -> Callable[[], Tensor]:
    count, px = shape
    pixels = torch.randint(0, 256, (count, 3, px, px), dtype=torch.uint8, device=rig.device)
    return partial(rig.encoder.encode_views, pixels)


def attention(rig: Rig) -> Found:
    """Returns milliseconds of the attention on finished projections, and how far ours is from the operators."""
    from encoders.attention import fused_grid, fused_windows

    found: Found = {}
    made: dict[str, Any] = {"heads": _HEADS, "dtype": torch.bfloat16, "device": str(rig.device)}
    for batch, side in rig.effort.grids:
        whole = random_case(side, batch=batch, **made)
        page = random_page(side, window=_WINDOW, batch=batch, **made)
        name = f"{batch} x {side} x {side}"
        _compare(rig, f"global, {name}", {
            "flash, no positions": partial(_flash, whole),
            "bias": partial(plain.grid_attention, *whole.arguments, None),
            "augmented q/k": partial(plain.grid_attention, *whole.arguments, key_axes(side, whole.rows)),
            "ours": partial(fused_grid.attend, *whole.arguments),
        }, found)  # fmt: skip
        _compare(rig, f"windows, {name}", {
            "bias": partial(plain.window_attention, *page.arguments),
            "ours": partial(fused_windows.attend, *page.arguments),
        }, found)  # fmt: skip
    return found


def _compare(rig: Rig, name: str, ways: Mapping[str, Callable[[], Tensor]], found: Found) -> None:
    for way, call in ways.items():
        with reported(f"{name}, {way}"):
            error = relative_error(call(), ways["bias"]().float()) if way == "ours" else None
            found[f"{name}, {way}"] = {"ms": rig.clock.ms(rig.clock.captured(call), 30), "error": error}
    rig.clock.tidy()


def _flash(case: Case) -> Tensor:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return functional.scaled_dot_product_attention(*case.heads, scale=case.scale)


def steps(rig: Rig) -> Found:
    """Returns one captured step at the mean length: milliseconds, tokens/s, share of the bound, and its kernels."""
    effort, shape = rig.effort, PoolShape.of(rig.text.language_model, rig.dtype)
    length = effort.prompt + effort.output // 2
    each = shape.blocks(length + _ROOM)
    times: Found = {}
    kernels: Found = {}
    for batch in effort.batches:
        pool = BlockPool(shape, (1 + batch * each) * shape.block_bytes, rig.device)
        device = DeviceSteps(rig.text, pool, slots=batch, max_tokens=length + _ROOM)
        for row in range(batch):
            device.plan[row, 0] = length
            device.plan[row, 1 : 1 + each] = range(1 + row * each, 1 + (row + 1) * each)
        step = partial(device.step, batch)
        first_ms = rig.clock.once_ms(lambda step=step: step().rows())
        ms = rig.clock.in_a_row_ms(step, effort.repeats)
        # Weights are read once, experts as far as that many rows reach, keys and values of each row.
        read_bytes = (
            step_weights(effort.language, batch) * rig.dtype.itemsize + batch * length * shape.token_bytes
        )
        times[str(batch)] = {
            "first_s": first_ms / 1e3,
            "alone_ms": rig.clock.ms(step, effort.repeats, alone=True),
            "in_a_row_ms": ms,
            "tokens_s": 1e3 * batch / ms,
            "share_of_bound": 1e3 * read_bytes / rig.rates.copy_bytes_s / ms,
            "peak_bytes": rig.clock.peak_bytes(),
        }
        kernels[str(batch)] = rig.clock.kernels(step)
        del device, step, pool
        rig.clock.tidy()
    return {"times": times, "kernels": kernels}


def prefill(rig: Rig) -> Found:
    """Returns the time of prompts of several pages in one forward, by number of pages, and its kernels."""
    effort, shape = rig.effort, PoolShape.of(rig.text.language_model, rig.dtype)
    each = shape.blocks(effort.prompt)
    times: Found = {}
    kernels: Found = {}
    for pages in effort.pages:
        rows = list(range(pages))
        blocks = [list(range(1 + row * each, 1 + (row + 1) * each)) for row in rows]
        prompts_NLD = torch.randn(
            pages, effort.prompt, effort.language.hidden_size, device=rig.device, dtype=rig.dtype
        )
        flops = pages * prefill_flops(effort.language, effort.prompt)
        pool = BlockPool(shape, (2 + pages * each) * shape.block_bytes, rig.device)
        device = DeviceSteps(rig.text, pool, slots=pages, max_tokens=effort.prompt + _ROOM, graphs=False)
        run = partial(device.prefill, prompts_NLD, blocks, rows)
        with reported(str(pages)):
            ms = rig.clock.ms(run, 5, alone=True)
            share = flops / ms * 1e3 / rig.rates.matrix_flops_s
            times[str(pages)] = {"ms_a_page": ms / pages, "share_of_matrix_rate": share}
            kernels[str(pages)] = rig.clock.kernels(run)
        del device, pool, run
        rig.clock.tidy()
    return {"times": times, "kernels": kernels}


SECTIONS: dict[str, Callable[[Rig], Found]] = {
    "machine": Rig.machine, "views": views, "attention": attention, "steps": steps, "prefill": prefill,
}  # fmt: skip


def main(words: Sequence[str] | None = None) -> Found:
    parser = sections_parser(__doc__)
    asked = parser.parse_args(words)
    device = device_of(parser, asked)
    with torch.inference_mode():
        rig = Rig(quick() if asked.quick else FULL, device)
    return run_sections({name: partial(measure, rig) for name, measure in SECTIONS.items()}, asked, rig.clock)


if __name__ == "__main__":
    main()
