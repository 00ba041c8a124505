"""Runs in which neighbouring pages of a document are read in one prompt: each page ends in a row of its own."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ocr.decoding.requests import PageRead, PageRequest
from ocr.families.generation.generate_engine import GenerateEngine
from ocr.types import Transcript
from pipeline.config.schema import Config, settings_hash, tile_settings
from pipeline.device.threads import page_reader
from pipeline.errors import ConfigError, DeviceLostError
from pipeline.stages.localize import OutputInterpreter, ReadPage, place
from pipeline.types import PageResult
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.ocr.families.published import tiny_published
from tests.ocr.families.unlimited_ocr import tiny_unlimited
from tests.pipeline.conftest import Batch
from tests.pipeline.run.test_run_families import config_of, minicpm, published
from tests.pipeline.runs import changed, rows, run_quietly
from tests.pipeline.winning import capture_that_wins

_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_published.save("qwen3_vl", tmp_path_factory.mktemp("model"))


def save_pages(path: Path, num_pages: int, blank: tuple[int, ...] = ()) -> None:
    """Writes a TIFF of pages of noise. blank: which of them are white, from 0."""
    random = np.random.default_rng(num_pages)
    first, *rest = [
        Image.new("RGB", (70, 90), "white")
        if number in blank
        else Image.fromarray(random.integers(0, 256, (90, 70, 3), np.uint8))
        for number in range(num_pages)
    ]
    first.save(path, save_all=True, append_images=rest)


def together(model: Path, docs: Path, database: str, num_pages: int, **more: Any) -> Config:
    config = config_of(model, docs, database, **more)
    return changed(config, decode={"pages_per_prompt": num_pages, "max_tokens": 300})


Answer = Callable[[PageRequest], str]


def answers(monkeypatch: pytest.MonkeyPatch, written: Answer) -> list[tuple[int, str | None]]:
    """Has the engine write what `written` returns; returns how many pages each request had, and its own prompt."""
    asked: list[tuple[int, str | None]] = []

    def read(self: GenerateEngine, requests: Any, check: Any = None) -> Iterator[PageRead]:
        tokenizer = self._model.tokenizer
        for index, request in enumerate(its for its in requests if its is not None):
            assert self._model.prompted(request).num_tokens > sum(len(its.tokens_TD) for its in request.items)
            asked.append((len(request.items), request.prompt))
            raw = written(request)
            ids = tuple(tokenizer.encode(raw, add_special_tokens=False).ids)
            found = Transcript(raw=raw, token_ids=ids, finish="eos", logprobs=(-0.1,) * len(ids))
            yield PageRead(index=index, transcript=found, prefill_s=0.1, generate_s=0.1)

    monkeypatch.setattr(GenerateEngine, "read", read)
    return asked


def each_page(request: PageRequest) -> str:
    """A text for each page, by what was seen of it."""
    return "\n".join(f"<PAGE>\nseen {float(its.tokens_TD.sum()):.2f}" for its in request.items)


def test_pages_share_prompts_and_each_has_its_part_of_the_answer(
    model: Path, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blank pages are left out, and documents never share one."""
    save_pages(batch.docs / "a.tiff", 5, blank=(1,))
    save_pages(batch.docs / "b.tiff", 1)
    asked = answers(
        monkeypatch, lambda request: each_page(request).replace("<PAGE>\n", "", len(request.items) == 1)
    )
    config = together(model, batch.docs, batch.database, 3)
    summary = run_quietly(config)
    assert summary.pages == {"ok": 5, "blank": 1}
    assert sorted(number for number, _ in asked) == [1, 2, 2]
    for number, prompt in asked:
        assert (prompt is None) == (number == 1)
        assert prompt is None or prompt.startswith(f"<image>Read\n\nThe pictures are {number} pages")
    found = {(Path(row["path"]).name, row["page"]): row["text"] for row in rows(batch.database)}
    assert len(set(found.values())) == 6
    assert all(
        text.startswith("seen ") and "<" not in text for key, text in found.items() if key != ("a.tiff", 2)
    )

    asked.clear()
    assert run_quietly(config).pages == {}, "all of them were read"
    singly = changed(config, decode={"pages_per_prompt": 1}, run={"force": True})
    answers(monkeypatch, lambda request: each_page(request).removeprefix("<PAGE>\n"))
    run_quietly(singly)
    assert {(Path(row["path"]).name, row["page"]): row["text"] for row in rows(batch.database)} == found


@pytest.mark.parametrize(
    "save",
    [
        published("qwen2_5_vl"),
        *(pytest.param(save, marks=pytest.mark.slow) for save in (minicpm("2.6"), tiny_unlimited.save)),
    ],
)
def test_without_page_breaks_in_the_answer_pages_are_read_as_each_by_itself(
    save: Callable[[Path], Path], batch: Batch, tmp_path: Path
) -> None:
    """A random model writes none."""
    save_pages(batch.docs / "a.tiff", 3)
    config = together(save(tmp_path / "model"), batch.docs, batch.database, 2)
    if save is tiny_unlimited.save:
        config = changed(config, decode={"max_tokens": 410})  # its views have more vision tokens
    run_quietly(config)
    found = [(row["page"], row["status"], row["text"]) for row in rows(batch.database)]
    run_quietly(changed(config, decode={"pages_per_prompt": 1}, run={"force": True}))
    assert found == [(row["page"], row["status"], row["text"]) for row in rows(batch.database)]
    assert len({text for *_, text in found}) == 3


def test_a_run_that_ends_early_loses_the_pages_in_its_model_and_the_next_reads_them_alone(
    model: Path, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_pages(batch.docs / "a.tiff", 6)
    config = changed(
        together(model, batch.docs, batch.database, 2), render={"workers": 1}, decode={"batch_size": 1}
    )

    def lost(request: PageRequest) -> str:
        if len(asked) == 2:
            raise RuntimeError("CUDA error: unspecified launch failure")
        return each_page(request)

    asked = answers(monkeypatch, lost)
    with pytest.raises(DeviceLostError):
        run_quietly(config)
    states = [row["status"] for row in rows(batch.database)]
    assert states[:2] == ["ok", "ok"]
    assert 2 <= states.count("failed") <= 4, "those in the encoder at that time among them"
    asked = answers(monkeypatch, lambda request: each_page(request).removeprefix("<PAGE>\n"))
    assert run_quietly(config).pages == {"ok": 4}
    assert [row["status"] for row in rows(batch.database)] == ["ok"] * 6
    assert [number for number, _ in asked].count(1) >= 2, "the pages that the model had are read alone"


@pytest.mark.parametrize(
    ("kind", "reason"), [("glm_ocr", "takes one picture in a prompt"), (None, "page by page")]
)
def test_a_model_that_takes_one_picture_refuses_the_key(
    kind: str | None, reason: str, batch: Batch, tmp_path: Path
) -> None:
    model = Path("small") if kind is None else tiny_published.save(kind, tmp_path / "model")
    with pytest.raises(ConfigError, match=f"decode.pages_per_prompt: 2: .*{reason}"):
        run_quietly(together(model, batch.docs, batch.database, 2))
    assert not Path(batch.database).exists()


def test_the_key_decides_whether_pages_were_read_only_where_it_is_set(model: Path) -> None:
    hashes = [
        settings_hash(changed(Config(model=str(model)), decode={"pages_per_prompt": number}), "0")
        for number in (1, 2, 3)
    ]
    assert hashes[0] == settings_hash(Config(model=str(model)), "0")
    assert len(set(hashes)) == 3


def test_several_pages_of_unlimited_ocr_have_the_published_views_and_prompt(tmp_path: Path) -> None:
    model = tiny_unlimited.save(tmp_path)
    views: list[Any] = [
        tile_settings(changed(Config(model=str(model)), decode={"pages_per_prompt": number})).views
        for number in (1, 2)
    ]
    assert [its.has_tiles for its in views] == [True, False]
    assert [its.side_px for its in views] == [1024, 1024]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=_GPU)])
def test_with_graphs_the_model_is_asked_the_same_and_writes_the_same(
    device: str, model: Path, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of one prompt share batches with those of others."""
    if device == "cpu":
        capture_that_wins(monkeypatch)
    save_pages(batch.docs / "a.tiff", 4)
    config = together(model, batch.docs, batch.database, 2, device=device, dtype="float32")
    config = changed(config, decode={"max_tokens": 150})

    def read(config: Config) -> tuple[dict[int, tuple[int, ...]], dict[str, Any]]:
        found: dict[int, tuple[int, ...]] = {}

        def noted(page: ReadPage, interpreter: OutputInterpreter) -> PageResult:
            found[page.rendered.page.page_index] = page.transcript.token_ids
            return place(page, interpreter)

        monkeypatch.setattr(page_reader, "place", noted)
        run_quietly(config)
        with closing(open_for_reading(batch.database)) as db:
            return found, dict(status(db).runs[-1].encoder or {})

    plain, _ = read(changed(config, encoder={"graphs": "off"}))
    on = {"graphs": "on", "max_items": 4, "budgets": {"image": [64, 256], "video": [64]}}
    replayed, used = read(changed(config, encoder=on, run={"force": True}))
    assert replayed == plain
    assert sorted(plain) == [0, 1, 2, 3]
    assert (used["image"]["hits"], used["image"]["eager"]) == (4, 0)
