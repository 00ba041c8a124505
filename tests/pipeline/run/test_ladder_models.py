"""A ladder of models: one reads everything, another one only what stayed in doubt."""

import gc
import subprocess
import sys
import weakref
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.device import open_models
from pipeline.device.startup.loading import load_model
from pipeline.device.threads.page_reader import PageReader
from pipeline.errors import ConfigError
from pipeline.reports.progress import Silent
from pipeline.run import deferred_models, runner
from pipeline.stop import Stop
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.ocr.families.published import tiny_published
from tests.pipeline.conftest import Batch, MakePdf
from tests.pipeline.runs import changed, rows, run_quietly


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return tiny_published.save("lighton_ocr", tmp_path / "other")


def ladder(
    config: Config,
    *rungs: dict[str, Any],
    below: float = 0.5,
    memory: str = "side_by_side",
    max_tokens: int = 80,
) -> Config:
    """max_tokens: the fewer the sooner a page is read; a page of a PDF needs some more."""
    section = type(config.ladder).model_validate({"below": below, "memory": memory, "rungs": list(rungs)})
    # The other model never ends by itself.
    return changed(config, decode={"max_tokens": max_tokens}).model_copy(update={"ladder": section})


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were loaded, by name."""
    names: list[str] = []
    real = PageReader.start

    def start(self: PageReader) -> None:
        if not self._threads:
            names.append(self._config.model)
        real(self)

    monkeypatch.setattr(PageReader, "start", start)
    return names


def noise(docs: Path, name: str, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (90, 120, 3), np.uint8)
    Image.fromarray(pixels).save(docs / name)


def test_pages_in_doubt_go_to_the_other_model(
    docs: Path, config: Config, database: str, reader: Path, other: Path, loaded: list[str]
) -> None:
    noise(docs, "a.png", 1)
    noise(docs, "b.png", 2)
    config = ladder(config, {"name": "large", "model": str(other), "below": 1.0}, below=0.0)
    summary = run_quietly(config)
    assert loaded == [str(reader), str(other)], "each once, the second when it was needed"
    assert summary.sent_up == {str(other): 2}
    assert f"pages read with {other} too: 2 of 2 (100.0%)" in summary.lines()
    with closing(open_for_reading(database)) as db:
        stored = db.query("select rung, count(*) as n from attempts group by rung order by rung")
        assert {row["rung"]: row["n"] for row in stored} == {None: 2, "large": 2}
        run = status(db).runs[0]
        assert run.counts["pages_sent_up"] == 2
        names = [stage["name"] for stage in run.flow["stages"]] if run.flow else []
    assert {"encode (large)", "encode"} <= set(names)
    assert all("encode_image" in row["timings"] for row in rows(database) if row["rung"] == "large")


def test_a_model_that_no_page_needs_is_never_loaded(
    batch: Batch, reader: Path, other: Path, loaded: list[str]
) -> None:
    batch.pdf("a.pdf", ["one", ""])
    rung = {"name": "large", "model": str(other), "below": 0.0}
    summary = run_quietly(ladder(batch.config, rung, below=0.0, max_tokens=120))
    assert summary.pages == {"ok": 1, "blank": 1}
    assert loaded == [str(reader)]
    assert not any("too:" in line for line in summary.lines())


def test_another_models_files_decide_whether_pages_were_read(
    docs: Path, config: Config, other: Path, make_pdf: MakePdf
) -> None:
    make_pdf(docs / "a.pdf", ["one"])
    config = ladder(config, {"name": "large", "model": str(other), "below": 0.0}, below=0.0, max_tokens=120)
    assert [sum(run_quietly(config).pages.values()) for _ in range(2)] == [1, 0]
    path = other / "tokenizer_config.json"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert sum(run_quietly(config).pages.values()) == 1


def test_a_model_that_cannot_be_loaded_ends_the_run_by_its_name(batch: Batch, other: Path) -> None:
    noise(batch.docs, "a.png", 1)
    (other / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(Exception, match="other"):
        run_quietly(ladder(batch.config, {"name": "large", "model": str(other), "below": 1.0}, below=0.0))
    assert len(rows(batch.database)) == 1, "its first reading is kept"


def test_the_shipped_reader_reads_everything_first(batch: Batch, other: Path, loaded: list[str]) -> None:
    """Without loading its page model: lines are read in processes, and what is in doubt goes to the other model."""
    samples = Path(__file__).parents[2] / "samples"
    (batch.docs / "letter.png").write_bytes((samples / "letter.png").read_bytes())
    noise(batch.docs, "noise.png", 3)
    values = {
        "ingest": {"paths": [str(batch.docs)]},
        "store": {"database": batch.database},
        "decode": {"max_tokens": 300},
        "ladder": {"below": 0.5, "rungs": [{"name": "large", "model": str(other)}]},
    }
    run_quietly(sources.load(None, ["device=cpu", "threads=1", "words=off"], [("test", values)]))
    found = {Path(row["path"]).name: row for row in rows(batch.database)}
    assert (found["letter.png"]["status"], found["letter.png"]["rung"]) == ("ok", None)
    assert "read" in found["letter.png"]["timings"]
    assert loaded in ([], [str(other)]), "never a page model of its own"


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many models were in memory when each had been loaded."""
    models: list[weakref.ref[Any]] = []
    counts: list[int] = []

    def load(config: Config) -> Any:
        loaded = load_model(config)
        gc.collect()
        # A model's object is copied freely; its weights are not.
        weights = next(loaded.model.parameters())
        models.append(weakref.ref(weights))
        counts.append(sum(model() is not None for model in models))
        return loaded

    monkeypatch.setattr(open_models, "load_model", load)
    return counts


def attempts_of(database: str) -> list[tuple[Any, ...]]:
    """Everything that readings came to, without times."""
    with closing(open_for_reading(database)) as db:
        return list(
            db.execute(
                "SELECT d.sha256, p.page_index, p.status, a.rung, a.status, a.text, a.markdown, round(a.confidence, 5),"
                " a.num_tokens, a.id = p.current_attempt_id, a.error_category FROM attempts a"
                " JOIN pages p ON p.id = a.page_id JOIN documents d ON d.id = p.document_id"
                " ORDER BY 1, 2, a.rung IS NOT NULL, a.id"
            )
        )


def mixed(docs: Path, make_pdf: MakePdf) -> None:
    for seed in (1, 2, 3):
        noise(docs, f"{seed}.png", seed)
    make_pdf(docs / "a.pdf", ["one", ""])


@pytest.mark.slow
def test_in_turn_as_side_by_side_with_one_model_in_memory(
    batch: Batch, tmp_path: Path, other: Path, alive: list[int]
) -> None:
    mixed(batch.docs, batch.pdf)
    rungs: list[dict[str, Any]] = [
        {"name": "mode", "mode": "small"},
        {"name": "large", "model": str(other), "below": 1.0},
        {"name": "larger", "model": str(other), "below": 1.0, "temperature": 0.5},
        {"name": "layer", "text_layer": True},
    ]
    found, summaries, counts = {}, {}, {}
    for memory in ("side_by_side", "in_turn"):
        database = str(tmp_path / f"{memory}.db")
        asked = changed(ladder(batch.config, *rungs, memory=memory), store={"database": database})
        alive.clear()
        summaries[memory] = run_quietly(asked)
        found[memory], counts[memory] = attempts_of(database), list(alive)
    assert found["in_turn"] == found["side_by_side"]
    assert {row[3] for row in found["in_turn"]} >= {None, "mode", "large", "larger"}
    one, both = summaries["in_turn"], summaries["side_by_side"]
    assert (one.sent_up, one.pages, one.did.num_tokens) == (both.sent_up, both.pages, both.did.num_tokens)
    assert one.sent_up[str(other)] >= 3
    assert {use.name for use in one.stages} == {use.name for use in both.stages}
    assert counts == {"side_by_side": [1, 2], "in_turn": [1, 1]}


def test_more_pages_wait_than_may_be_read_again_at_once(
    batch: Batch, other: Path, loaded: list[str], reader: Path
) -> None:
    for seed in range(12):
        noise(batch.docs, f"{seed}.png", seed)
    rung = {"name": "large", "model": str(other), "below": 1.0}
    asked = changed(
        ladder(batch.config, rung, below=0.0, memory="in_turn"),
        render={"workers": 1},
        run={"inflight_mb": 16},
    )
    assert run_quietly(asked).sent_up == {str(other): 12}
    assert loaded == [str(reader), str(other)]


@pytest.mark.parametrize(("room", "expected"), [(True, [1, 2]), (False, [1, 1])])
def test_auto_goes_by_the_memory_that_is_free(
    *, room: bool, expected: list[int], docs: Path, config: Config, other: Path, alive: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    noise(docs, "a.png", 1)
    asked = ladder(config, {"name": "large", "model": str(other), "below": 1.0}, below=0.0, memory="auto")
    monkeypatch.setattr(deferred_models, "available_bytes", lambda: 1 << (40 if room else 20))
    assert run_quietly(asked).sent_up == {str(other): 1}
    assert alive == expected


_KILLED = """
import os, sys
from pipeline.config.schema import Config
from pipeline.device.threads.page_reader import PageReader
from tests.pipeline.runs import run_quietly

first, start = sys.argv[2], PageReader.start

def started(self):
    if self._config.model != first:
        os._exit(9)
    start(self)

PageReader.start = started
run_quietly(Config.model_validate_json(sys.argv[1]))
"""


@pytest.mark.slow
def test_a_kill_between_two_models_loses_nothing(batch: Batch, tmp_path: Path, other: Path) -> None:
    mixed(batch.docs, batch.pdf)
    rung = {"name": "large", "model": str(other), "below": 1.0}
    asked = ladder(batch.config, rung, below=0.0, memory="in_turn")
    whole = str(tmp_path / "whole.db")
    run_quietly(changed(asked, store={"database": whole}))
    arguments = [sys.executable, "-c", _KILLED, asked.model_dump_json(), asked.model]
    assert subprocess.run(arguments, timeout=600, check=False, capture_output=True).returncode == 9
    with closing(open_for_reading(batch.database)) as db:
        texts = db.execute("SELECT count(*) FROM attempts WHERE text <> '' AND rung IS NULL").fetchone()[0]
        assert texts >= 3, "the first readings are kept"
        marks = db.execute("SELECT count(*) FROM in_flight").fetchone()[0]
        assert marks <= 1, "pages that waited were in no model: they are not to blame"
    summary = run_quietly(asked)
    assert summary.sent_up[str(other)] >= 3
    assert attempts_of(batch.database) == attempts_of(whole)
    assert not run_quietly(asked).sent_up or any(row[2] == "truncated" for row in attempts_of(whole))


def test_a_stop_between_two_models_is_gone_on_from(
    batch: Batch, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise(batch.docs, "a.png", 1)
    noise(batch.docs, "b.png", 2)
    asked = ladder(
        batch.config, {"name": "large", "model": str(other), "below": 1.0}, below=0.0, memory="in_turn"
    )
    stop, start = Stop(), PageReader.start

    def started(self: PageReader) -> None:
        if self._config.model == str(other):
            stop.request("enough")
        start(self)

    with monkeypatch.context() as patch:
        patch.setattr(PageReader, "start", started)
        summary = runner.run(asked, Silent(), stop)
    assert summary.stopped
    assert not summary.sent_up
    assert len(rows(batch.database)) == 2, "the first readings are kept"
    assert run_quietly(asked).sent_up == {str(other): 2}


@pytest.mark.parametrize(
    "rungs",
    [
        "[{name: a, model: small}, {name: b, mode: base}]",
        "[{name: a, model: x}, {name: b, model: small}, {name: c, model: x, mode: base}]",
    ],
)
def test_in_turn_no_model_comes_twice(rungs: str) -> None:
    load(None, [f"ladder.rungs={rungs}", "ladder.memory=auto"])
    with pytest.raises(ConfigError, match="put those of one model together"):
        load(None, [f"ladder.rungs={rungs}", "ladder.memory=in_turn"])
