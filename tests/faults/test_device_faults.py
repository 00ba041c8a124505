"""A device that runs out of memory or is lost, simulated: what it costs, and that the next run goes on."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from encoders.graphs.manager import EncoderGraphManager
from ocr.engine.slots import Slots
from pipeline import runner
from pipeline.config import Config
from pipeline.errors import DeviceLostError, ExitCode, exit_code
from pipeline.run_encoder import RunEncoder
from storage.database import open_for_reading
from storage.queries import status
from tests.faults import tables
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import MakePdf
from tests.pipeline.runs import encode_together, rows, run_quietly

NO_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1.00 GiB free.")
LOST = RuntimeError("CUDA error: an illegal memory access was encountered")
PLACES = {
    "encoder": (RunEncoder, "encode_global"),
    "decoder": (Slots, "step"),
}


def _fail(
    monkeypatch: pytest.MonkeyPatch, place: tuple[type, str], error: Exception, times: int | None
) -> Callable[[], int]:
    """Has a method raise so many times, None: always. Returns how often it did."""
    owner, name = place
    real, raised = getattr(owner, name), []

    def fails(*args: Any, **kwargs: Any) -> Any:
        if times is None or len(raised) < times:
            raised.append(1)
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, fails)
    return lambda: len(raised)


@pytest.mark.parametrize(("place", "together"), [("encoder", 1), ("encoder", 5), ("decoder", 5)])
def test_memory_that_is_short_once_costs_no_page(
    docs: Path,
    config: Config,
    database: str,
    make_pdf: MakePdf,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    together: int,
) -> None:
    make_pdf(docs / "a.pdf", [f"page {number}" for number in range(5)])
    encode_together(monkeypatch, together)
    raised = _fail(monkeypatch, PLACES[place], NO_MEMORY, 1)
    assert run_quietly(config).pages == {"ok": 5}
    assert raised() == 1
    assert [row["text"] for row in rows(database)] == [TEXT] * 5


@pytest.mark.parametrize("place", ["encoder", "decoder"])
def test_memory_that_never_suffices_fails_each_page_with_a_reason_and_the_next_run_reads_them(
    docs: Path,
    config: Config,
    database: str,
    make_pdf: MakePdf,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    make_pdf(docs / "a.pdf", ["one", "two", "", "three"])
    with monkeypatch.context() as patch:
        _fail(patch, PLACES[place], NO_MEMORY, None)
        summary = run_quietly(config)
    assert summary.pages == {"failed": 3, "blank": 1}
    assert summary.exit_code == ExitCode.INCOMPLETE
    errors = [row["error"] for row in rows(database) if row["error"]]
    assert {error["category"] for error in errors} == {"out_of_memory"}
    assert all("CUDA out of memory" in error["message"] for error in errors)
    assert run_quietly(config).pages == {"ok": 3}


def test_memory_that_does_not_suffice_for_graphs_costs_the_graphs(
    docs: Path, config: Config, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pdf(docs / "a.pdf", ["one", "two"])
    raised = _fail(monkeypatch, (EncoderGraphManager, "warm_up"), NO_MEMORY, None)
    assert run_quietly(config).pages == {"ok": 2}
    assert raised() == 1


@pytest.mark.parametrize("place", ["encoder", "decoder"])
def test_a_lost_device_ends_the_run_and_the_next_one_goes_on(
    docs: Path,
    config: Config,
    database: str,
    make_pdf: MakePdf,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    make_pdf(docs / "a.pdf", [f"page {number}" for number in range(5)])
    with monkeypatch.context() as patch:
        _fail(patch, PLACES[place], LOST, None)
        with pytest.raises(DeviceLostError, match="run again to read the others") as caught:
            run_quietly(config)
    assert exit_code(caught.value) == ExitCode.FATAL
    with closing(open_for_reading(database)) as db:
        ended = status(db).runs[0]
    assert (ended.state, ended.exit_code) == ("finished", ExitCode.FATAL)
    assert not tables.faults(Path(database))
    num_done = tables.num_finished(Path(database))
    assert run_quietly(config).pages == {"ok": 5 - num_done}
    assert [row["text"] for row in rows(database)] == [TEXT] * 5


def test_a_model_that_does_not_fit_the_device_ends_the_run_and_costs_no_attempt(
    docs: Path, config: Config, database: str, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pdf(docs / "a.pdf", ["one", "two"])
    with monkeypatch.context() as patch:
        _fail(patch, (runner, "load_model"), NO_MEMORY, None)  # type: ignore[arg-type]
        with pytest.raises(Exception, match="out of memory"):
            run_quietly(config)
    with closing(open_for_reading(database)) as db:
        assert status(db).pages == {"pending": 2}
    assert run_quietly(config).pages == {"ok": 2}
