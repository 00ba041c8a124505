"""Runs whose graphs are asked for: each path replays from its first page on, and the language model writes the same.

On a CPU the graphs are eager runs on static, padded buffers; on a GPU they are CUDA graphs, in float32, so that padding
changes no rounding that tokens hang on.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from pipeline.config.schema import Config
from pipeline.device.run_encoder import RunEncoder
from pipeline.device.startup import loading
from pipeline.device.threads import page_reader
from pipeline.reports.summary import RunSummary
from pipeline.stages.localize import OutputInterpreter, ReadPage, place
from pipeline.types import PageResult
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.ocr.families.published.tiny_published import tokenizer
from tests.ocr.families.unlimited_ocr import tiny_unlimited
from tests.ocr.saving import save as save_checkpoint
from tests.ocr.tiny import tiny_model
from tests.pipeline.conftest import Batch
from tests.pipeline.run.test_run_families import config_of, minicpm, published
from tests.pipeline.runs import changed, run_quietly
from tests.pipeline.winning import capture_that_wins


def deepseek(folder: Path) -> Path:
    """A tiny random DeepSeek-OCR: transformers has no class of it, so it is saved as ocrbatch does."""
    marks = tokenizer(tiny_unlimited.SPECIALS, eos="<|eos|>", pad_token="<|pad|>", bos_token="<|bos|>")
    save_checkpoint(tiny_model(tiny_unlimited.CONFIG), folder, tokenizer=marks.backend_tokenizer)
    return folder


@dataclass(frozen=True, kw_only=True)
class Case:
    """paths: what its pages, of these sizes (height, width), go through; and a video, where it has frames.

    max_tokens: of a page, prompt included. budgets: where the usual ones are too many for a test.
    """

    save: Callable[[Path], Path]
    paths: frozenset[str]
    sizes: tuple[tuple[int, int], ...] = ((120, 90), (70, 140))
    num_frames: int = 0
    max_tokens: int = 90
    budgets: dict[str, list[int]] | None = None


_NATIVE: dict[str, Any] = {
    "paths": frozenset({"image", "video"}),
    "num_frames": 4,
    "budgets": {"image": [64, 256], "video": [64, 256]},
}
_SQUARE: dict[str, Any] = {
    "paths": frozenset({"global", "local"}),
    "sizes": ((900, 500), (120, 90)),
    "max_tokens": 560,
}
CASES = {
    "DeepSeek-OCR": Case(save=deepseek, **_SQUARE),
    "DeepSeek-OCR-2": Case(save=published("deepseek_ocr2"), **_SQUARE),
    "Qwen3-VL": Case(save=published("qwen3_vl"), **_NATIVE),
    "Qwen2.5-VL": Case(save=published("qwen2_5_vl"), **_NATIVE),
    "MiniCPM-V 2.6": Case(save=minicpm("2.6"), paths=frozenset({"slices"}), num_frames=4, max_tokens=140),
    "MiniCPM-V 4.5": Case(save=minicpm("4.5"), paths=frozenset({"slices"}), num_frames=4),
}
_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
_QUICK = ("Qwen3-VL", "MiniCPM-V 4.5")
_RUNS = [
    *(pytest.param(name, "cpu", marks=[] if name in _QUICK else pytest.mark.slow) for name in CASES),
    *(pytest.param(name, "cuda", marks=_GPU) for name in CASES),
]


@pytest.mark.parametrize(("name", "device"), _RUNS)
def test_tokens_are_those_of_a_run_without_graphs(
    name: str, device: str, batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    if device == "cpu":
        capture_that_wins(monkeypatch)
    num_inputs = save_inputs(case, batch.docs)
    config = config_of(
        case.save(tmp_path / "model"),
        batch.docs,
        batch.database,
        device=device,
        dtype="float32",
        ingest={"paths": [str(batch.docs)], "video": bool(case.num_frames)},
    )
    config = changed(config, decode={"max_tokens": case.max_tokens})

    plain, eager, _ = read(changed(config, encoder={"graphs": "off"}), monkeypatch)
    config = changed(config, run={"force": True})
    graphs = {"graphs": "on", "max_items": 4, "budgets": case.budgets}
    replayed, used, summary = read(changed(config, encoder=graphs), monkeypatch)

    assert len(plain) == num_inputs
    assert len(set(plain.values())) == num_inputs, "what is written depends on what is seen"
    assert replayed == plain
    assert set(used) == case.paths
    assert all(stats["hits"] == 0 for stats in eager.values())
    for path, stats in used.items():
        assert stats["hits"] == eager[path]["eager"] > 0
        assert (stats["misses"], stats["eager"], stats["left_out"]) == (0, 0, {})
        assert (stats["nan_traps"], stats["parity_failures"], stats["dropped_graphs"]) == (0, 0, 0)
    told = [line for line in summary.lines(verbose=True) if line.startswith("encoder ")]
    assert len(told) == len(case.paths)
    assert all(": all replayed; padding " in line for line in told)


def test_graphs_are_there_before_the_cache_of_keys_and_values_is_sized(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache takes a share of the memory that is free."""
    order: list[str] = []
    warm_up, open_paged = RunEncoder.warm_up, loading.open_paged

    def captured(self: RunEncoder) -> None:
        warm_up(self)
        order.append("captured")

    def opened(*arguments: Any) -> Any:
        order.append("opened")
        return open_paged(*arguments)

    monkeypatch.setattr(RunEncoder, "warm_up", captured)
    monkeypatch.setattr(loading, "open_paged", opened)
    Image.effect_noise((90, 60), 90).save(batch.docs / "a.png")
    batch.run()
    assert order == ["captured", "opened"]


def read(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, tuple[int, ...]], dict[str, dict[str, Any]], RunSummary]:
    """Returns the tokens of each file, the statistics of each path as the database has them, and the summary."""
    found: dict[str, tuple[int, ...]] = {}

    def noted(page: ReadPage, interpreter: OutputInterpreter) -> PageResult:
        found[Path(page.rendered.page.path).name] = page.transcript.token_ids
        return place(page, interpreter)

    with monkeypatch.context() as patched:
        patched.setattr(page_reader, "place", noted)
        summary = run_quietly(config)
    assert not summary.pages["failed"]
    assert all(found.values()), "no prompt leaves too few tokens for an answer"
    with closing(open_for_reading(config.store.database)) as db:
        return found, dict(status(db).runs[-1].encoder or {}), summary


def save_inputs(case: Case, docs: Path) -> int:
    """Writes pages of noise, and a video of it; returns how many files these are."""
    random = np.random.default_rng(0)
    for number, size in enumerate(case.sizes):
        Image.fromarray(random.integers(0, 256, (*size, 3), np.uint8)).save(docs / f"{number}.png")
    if case.num_frames:
        frames = [
            Image.fromarray(frame) for frame in random.integers(0, 256, (case.num_frames, 30, 40), np.uint8)
        ]
        frames[0].save(docs / "video.gif", save_all=True, append_images=frames[1:])
    return len(case.sizes) + bool(case.num_frames)
