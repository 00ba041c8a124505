"""A device that runs out of memory or is lost, simulated: what it costs, and that the next run continues."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ocr.decoding.gpu.forward.steps import DeviceSteps
from pipeline.device import open_models, sizes
from pipeline.device.run_encoder import RunEncoder
from pipeline.device.threads import encoder_thread
from pipeline.errors import DeviceLostError, ExitCode, ModelMemoryError, exit_code
from pipeline.types import RenderedPage
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.faults.rig import tables
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed, encode_together, rows, run_quietly

NO_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1.00 GiB free.")
LOST = RuntimeError("CUDA error: an illegal memory access was encountered")
PLACES = {
    "encoder": (RunEncoder, "encode_path"),
    "decoder": (DeviceSteps, "step"),
}


def _fail(
    monkeypatch: pytest.MonkeyPatch, place: tuple[type, str], error: Exception, times: int | None
) -> Callable[[], int]:
    """Makes a method raise this many times, None: always. Returns a function that counts how often it did."""
    owner, name = place
    real, raised = getattr(owner, name), []

    def fails(*args: Any, **kwargs: Any) -> Any:
        if times is None or len(raised) < times:
            raised.append(1)
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, fails)
    return lambda: len(raised)


def attempts_by_status(database: str) -> tuple[int, int]:
    """Returns how many attempts read their page, and how many failed with the device."""
    with closing(sqlite3.connect(database)) as db:
        found = db.execute("SELECT status, error_category FROM attempts").fetchall()
    done, struck = (found.count(row) for row in (("ok", None), ("failed", "device_lost")))
    assert done + struck == len(found)
    return done, struck


@pytest.mark.parametrize(("place", "together"), [("encoder", 1), ("encoder", 5), ("decoder", 5)])
def test_memory_that_is_short_once_costs_no_page(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, place: str, together: int
) -> None:
    batch.pdf("a.pdf", [f"page {number}" for number in range(5)])
    encode_together(monkeypatch, together)
    raised = _fail(monkeypatch, PLACES[place], NO_MEMORY, 1)
    assert batch.run().pages == {"ok": 5}
    assert raised() == 1
    assert [row["text"] for row in rows(batch.database)] == [TEXT] * 5


@pytest.mark.parametrize("place", ["encoder", "decoder"])
def test_memory_that_never_suffices_fails_each_page_with_a_reason_and_the_next_run_reads_them(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    batch.pdf("a.pdf", ["one", "two", "", "three"])
    with monkeypatch.context() as patch:
        _fail(patch, PLACES[place], NO_MEMORY, None)
        summary = batch.run()
    assert summary.pages == {"failed": 3, "blank": 1}
    assert summary.exit_code == ExitCode.INCOMPLETE
    errors = [row["error"] for row in rows(batch.database) if row["error"]]
    assert {error["category"] for error in errors} == {"out_of_memory"}
    assert all("CUDA out of memory" in error["message"] for error in errors)
    assert batch.run().pages == {"ok": 3}


@pytest.mark.parametrize("place", ["encoder", "decoder"])
def test_a_lost_device_ends_the_run_and_the_next_one_goes_on(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    batch.pdf("a.pdf", [f"page {number}" for number in range(5)])
    with monkeypatch.context() as patch:
        _fail(patch, PLACES[place], LOST, None)
        with pytest.raises(DeviceLostError, match="run again to read the others") as caught:
            batch.run()
    assert exit_code(caught.value) == ExitCode.FATAL
    with closing(open_for_reading(batch.database)) as db:
        ended = status(db).runs[0]
    assert (ended.state, ended.exit_code) == ("finished", ExitCode.FATAL)
    assert not tables.faults(Path(batch.database))
    done, struck = attempts_by_status(batch.database)
    assert struck >= 1, "an attempt each for the pages that were on the device"
    assert ended.num_pages == done + struck
    assert batch.run().pages == {"ok": 5 - done}
    assert [row["text"] for row in rows(batch.database)] == [TEXT] * 5


def _poison(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Makes the first page of a file lose the device, in the encoder or in the decoder."""
    encode, prefill = encoder_thread.encode, DeviceSteps.prefill

    def encodes(encoder: Any, pages: Sequence[RenderedPage]) -> Any:
        is_poison = [page.page.page_index == 0 for page in pages]
        if place == "encoder" and any(is_poison):
            raise LOST
        return [
            (
                replace(tokens, tokens_TD=torch.full_like(tokens.tokens_TD, torch.nan)) if poison else tokens,
                timings,
            )
            for (tokens, timings), poison in zip(encode(encoder, pages), is_poison, strict=True)
        ]

    def prefills(self: DeviceSteps, prompts: torch.Tensor, *places: Any) -> Any:
        if prompts.isnan().any():
            raise LOST
        return prefill(self, prompts, *places)

    monkeypatch.setattr(encoder_thread, "encode", encodes)
    monkeypatch.setattr(DeviceSteps, "prefill", prefills)


@pytest.mark.parametrize("place", ["encoder", "decoder"])
def test_a_page_that_takes_the_device_with_it_is_set_aside_after_some_nights(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    batch.pdf("a.pdf", ["poison", "two", "three"])
    nightly = changed(batch.config, store={"attempt_limit": 1}, render={"workers": 1})
    _poison(monkeypatch, place)
    monkeypatch.setitem(sizes.DECODE_SLOTS, "cpu", 1)
    with monkeypatch.context() as patch:
        if place == "decoder":  # which then has the device for itself
            encode_together(patch, 3)
        with pytest.raises(DeviceLostError):
            run_quietly(nightly)
    assert attempts_by_status(batch.database) == (0, 1), "the pages that waited cost nothing"
    with pytest.raises(DeviceLostError):
        run_quietly(nightly)
    assert attempts_by_status(batch.database) == (2, 2), "the page that may be the reason comes last"
    (found, *others) = rows(batch.database)
    assert (found["status"], found["error"]["category"]) == ("quarantined", "device_lost")
    assert found["error"]["stage"] == place.removesuffix("r")
    assert "illegal memory access" in found["error"]["message"]
    assert {row["status"] for row in others} == {"ok"}
    summary = run_quietly(nightly)
    assert (summary.pages, summary.num_given_up) == ({}, 1)
    assert not tables.faults(Path(batch.database))


@pytest.mark.parametrize("force", [False, True])
def test_pages_beside_one_that_takes_the_device_are_not_set_aside_with_it(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    batch.pdf("a.pdf", ["poison", "two", "three"])
    nightly = changed(batch.config, store={"attempt_limit": 1}, render={"workers": 1}, run={"force": force})
    _poison(monkeypatch, "encoder")
    with monkeypatch.context() as patch:
        encode_together(patch, 3)
        with pytest.raises(DeviceLostError):
            run_quietly(nightly)
    assert attempts_by_status(batch.database) == (0, 3), "nobody can tell which of them it was"
    with monkeypatch.context() as patch:
        patch.setitem(sizes.ENCODE_PAGES, "cpu", 3)  # they could be read together, but are not
        with pytest.raises(DeviceLostError):
            run_quietly(nightly)
    assert [row["status"] for row in rows(batch.database)] == ["quarantined", "failed", "failed"]
    if force:
        with pytest.raises(DeviceLostError):  # again, but after the others
            run_quietly(nightly)
    else:
        assert run_quietly(nightly).pages == {"ok": 2}
    assert [row["status"] for row in rows(batch.database)] == ["quarantined", "ok", "ok"]
    assert not tables.faults(Path(batch.database))


@pytest.mark.parametrize(
    ("error", "kind", "remedy"),
    [
        (
            NO_MEMORY,
            ModelMemoryError,
            r"CUDA out of memory.*dtype: bfloat16, a smaller model, or device: cpu",
        ),
        (RuntimeError("DefaultCPUAllocator: not enough memory"), ModelMemoryError, "lower render.workers"),
        (RuntimeError("CUDA error: all devices are busy"), DeviceLostError, "nvidia-smi.*device: cpu"),
    ],
)
def test_a_model_that_does_not_fit_the_device_ends_the_run_and_costs_no_attempt(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception], remedy: str
) -> None:
    batch.pdf("a.pdf", ["one", "two"])
    with monkeypatch.context() as patch:
        _fail(patch, (open_models, "load_model"), error, None)  # type: ignore[arg-type]
        with pytest.raises(kind, match=remedy) as caught:
            batch.run()
    assert exit_code(caught.value) == ExitCode.FATAL
    with closing(open_for_reading(batch.database)) as db:
        assert status(db).pages == {"pending": 2}
    assert batch.run().pages == {"ok": 2}
