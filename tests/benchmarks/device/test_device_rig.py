"""Sections run, fail and are told apart from one another; kernels have their kinds."""

import json
from argparse import Namespace
from pathlib import Path

import pytest
import torch

from tests.benchmarks.device.device_rig import DeviceClock, kind_of, run_sections, tables

CLOCK = DeviceClock(torch.device("cpu"))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopA_bias_TNT", "gemm"),
        ("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", "convolution"),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>", "attention"),
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "attention"),
        ("void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>", "layout copies"),
        ("void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16>", "layout copies"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>", "pointwise"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16>", "norm"),
        ("something new", "other"),
    ],
)
def test_kernels_have_their_kinds(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_rows_of_one_form_are_one_table() -> None:
    found = {
        "ms": {"1 x 640": {"eager": 1.25, "graph": 1}, "8 x 640": {"eager": 2.0, "graph": 1}},
        "hits": [3, 4],
    }
    assert "\n".join(tables(found)).splitlines() == [
        "| | eager | graph |", "|---|---|---|", "| ms, 1 x 640 | 1.25 | 1 |", "| ms, 8 x 640 | 2 | 1 |", "",
        "| | hits |", "|---|---|", "|  | [3, 4] |",
    ]  # fmt: skip


def test_a_section_that_fails_or_comes_too_late_does_not_end_the_rest(tmp_path: Path) -> None:
    def failing() -> None:
        raise RuntimeError("no memory")

    asked = Namespace(sections="bad, good", output=tmp_path / "figures.json", limit_s=60.0)
    run_sections({"good": lambda: {"x": 1}, "bad": failing}, asked, CLOCK)
    found = json.loads(asked.output.read_text())
    assert found["bad"] == {"error": "RuntimeError: no memory"}
    assert found["good"] == {"x": 1}
    asked.limit_s = -1.0
    assert "not begun" in run_sections({"bad": failing, "good": failing}, asked, CLOCK)["good"]["error"]
    asked.sections = "good,nonsense"
    with pytest.raises(SystemExit, match="nonsense"):
        run_sections({"good": failing}, asked, CLOCK)
