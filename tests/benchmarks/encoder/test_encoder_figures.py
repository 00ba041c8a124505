"""The program of the encoder's figures on a tiny model: every section runs, and its figures add up."""

import json
from pathlib import Path

import pytest
import torch

from encoders.deepseek.deep_encoder import EncoderConfig
from pipeline.bench.roofline.bound import clip_flops, sam_flops, view_flops
from tests.benchmarks.encoder import encoder_figures
from tests.benchmarks.encoder.encoder_figures import main, parse_sections
from tests.benchmarks.encoder.encoder_profile import Kernel, kind_of, text

ALL = "machine,batches,numerics,counts,profile"


@pytest.mark.parametrize(("view_px", "sam", "clip"), [(1024, 977, 162), (640, 326, 62)])
def test_operations_of_the_published_model(view_px: int, sam: int, clip: int) -> None:
    config = EncoderConfig()
    assert sam_flops(config.sam, view_px) / 1e9 == pytest.approx(sam, rel=0.005)
    assert clip_flops(config.clip, view_px) / 1e9 == pytest.approx(clip, rel=0.005)
    assert view_flops(config, view_px) / 1e9 == pytest.approx(sam + clip, rel=0.005)


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


def test_a_profile_lists_kinds_and_the_longest_kernels() -> None:
    kernels = [Kernel(name="a", kind="gemm", calls=2, ms=3.0), Kernel(name="b", kind="norm", calls=1, ms=1.0)]
    lines = text("1 x 640", kernels, most=1).splitlines()
    assert lines[0] == "1 x 640: 4.000 ms in 3 kernels"
    assert lines[2].split() == ["3.000", "ms", "75.0%", "gemm"]
    assert lines[-1].split() == ["3.000", "ms", "75.0%", "2", "x", "[gemm]", "a"]


def test_sections_are_names() -> None:
    assert parse_sections("machine, profile") == ["machine", "profile"]
    assert parse_sections(None)[-1] == "counts"
    with pytest.raises(SystemExit, match="nonsense"):
        parse_sections("machine,nonsense")


def test_every_section_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "figures" / "figures.json"
    torch.set_num_threads(1)
    main([str(output), "--quick", "--device", "cpu", "--dtype", "float32", "--sections", ALL])
    found = json.loads(output.read_text())
    assert [name for name, result in found.items() if "error" in result] == []
    assert max(found["numerics"]["largest"]["graph"].values()) < 1e-5
    poisoned = found["numerics"]["poisoned"]
    assert (poisoned["same_bits"], poisoned["largest_difference"]) == (True, 0.0)
    assert poisoned["hits"][0] == poisoned["hits"][1], "a batch is replayed in both passes or in neither"
    assert [row["views"] for row in found["counts"]["counts"]["local"]] == [1, 2, 3]
    assert [size["views"] for size in found["counts"]["sizes"]["global"]] == [1, 2]
    shown = capsys.readouterr().out
    assert "of the matrix rate" in shown
    assert (output.parent / "profile-1x512.txt").read_text().startswith("1x512:")


def test_a_section_that_fails_does_not_end_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(encoder_figures, "batches", failing)
    output = tmp_path / "figures.json"
    main([str(output), "--quick", "--device", "cpu", "--sections", "batches,machine"])
    found = json.loads(output.read_text())
    assert found["batches"]["error"] == "RuntimeError: no memory"
    assert found["machine"]["matmul_tflops"] > 0
    late = main([str(output), "--quick", "--device", "cpu", "--sections", "machine", "--limit-s", "-1"])
    assert "not begun" in late["machine"]["error"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_every_section_runs_on_a_gpu(tmp_path: Path) -> None:
    found = main([str(tmp_path / "figures.json"), "--quick", "--sections", ALL])
    assert [name for name, result in found.items() if "error" in result] == []
    assert set(found["batches"]["1 x 512"]["ms"]) == {"reference", "eager", "graph"}
    assert max(found["numerics"]["largest"]["graph"].values()) < 0.05
