"""Tiny encoders of the families on a GPU: real captures agree with eager and with transformers, within a limit."""

import contextlib
from typing import Any

import pytest
import torch

from pipeline.bench.encoding.encoder_bench import BenchSettings, bench
from pipeline.bench.encoding.subjects import PublishedSize, random_subject
from pipeline.errors import ConfigError
from tests.ocr.families.minicpm.tiny_minicpm import config_json
from tests.pipeline.bench.encoding.test_random_encoders import QWEN2_5, QWEN3

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
SIZES = {
    "qwen3": QWEN3,
    "qwen2.5": QWEN2_5,
    "minicpm-v-2.6": PublishedSize(kind="minicpmv", config=config_json("2.6")),
    "minicpm-v-4.5": PublishedSize(kind="minicpmv", config=config_json("4.5"), packed=3),
}
LIMIT = 512 << 20


@pytest.mark.parametrize("frames", [0, 8])
@pytest.mark.parametrize("name", SIZES)
def test_graphs_agree_and_stay_within_their_memory(name: str, frames: int) -> None:
    subject = random_subject(SIZES[name], torch.device("cuda"), torch.bfloat16)
    asked: dict[str, Any] = {"num_prompts": 4, "num_warmups": 1, "batch_size": 2, "budgets": "fitted"}
    result = bench(
        BenchSettings(device="cuda", buckets={(64, 96): 1.0}, frames=frames, memory_limit=LIMIT, **asked),
        subject,
    )
    assert "graph to eager" in result["parity"]
    assert max(result["parity"].values()) < 0.05
    stats = result["arms"][-1]["statistics"].values()
    assert sum(its["graph_bytes"] for its in stats) <= LIMIT
    # So small a model is launched slower than it computes, but on a busy machine no graph may win by enough.
    losing = sum(its["losing_graphs"] for its in stats)
    assert sum(its["hits"] for its in stats) > 0 or losing > 0


@pytest.mark.parametrize("attention", ["flash", "efficient", "cudnn", "varlen"])
@pytest.mark.parametrize("name", ["qwen3", "minicpm-v-4.5"])
def test_a_back_end_agrees_or_says_that_it_cannot(name: str, attention: str) -> None:
    """Which ones take these shapes and a mask is PyTorch's and the card's affair."""
    subject = random_subject(SIZES[name], torch.device("cuda"), torch.bfloat16)
    settings: dict[str, Any] = {
        "device": "cuda",
        "dtype": "bfloat16",
        "buckets": {(64, 96): 0.5, (128, 64): 0.5},
        "num_prompts": 4,
        "batch_size": 2,
    }
    with contextlib.ExitStack() if attention == "varlen" else contextlib.suppress(ConfigError):
        result = bench(BenchSettings(**settings, attention=attention), subject)
        assert max(result["parity"].values()) < 0.05
    switches: Any = torch.backends.cuda
    assert switches.flash_sdp_enabled(), "nothing is left switched"
    plain = bench(BenchSettings(**settings), subject)
    assert max(plain["parity"].values()) < 0.05
