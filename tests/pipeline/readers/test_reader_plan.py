"""Who takes a page is decided by the plan alone, and a reader of one's own is one class and one line."""

import re
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.retry_steps import steps_of
from pipeline.config.schema import Config, render_settings
from pipeline.config.sources import load
from pipeline.device.open_models import Models
from pipeline.readers import reader_plan
from pipeline.readers.reader_plan import READERS, LineByLine, ReaderPlan
from pipeline.readers.whole_pages import WholePages
from tests.pipeline.checkpoints import PAGE_MODEL
from tests.pipeline.runs import rows, run_quietly

SAMPLES = Path(__file__).parents[2] / "samples"
TOY = re.search(
    r"```python\n(.*?)```", Path(reader_plan.__file__).with_name("README.md").read_text("utf-8"), re.DOTALL
)


def toy() -> Any:
    """The reader of the README."""
    assert TOY is not None
    names: dict[str, Any] = {}
    exec(compile(TOY[1], "README.md", "exec"), names)
    return names["Darkness"]()


def planned(config: Config) -> ReaderPlan:
    parts: Any = object()
    return ReaderPlan(config, Models(first=parts, lines=None, others={"other": parts}), parts)


def test_the_configured_reader_is_first_and_steps_may_name_another() -> None:
    ladder = {"rungs": [{"name": "big", "model": PAGE_MODEL}]}
    config = Config.model_validate({"ladder": ladder})
    first, other = steps_of(config, "image", render_settings(config))[:2]
    parts: Any = object()
    found = ReaderPlan(config, Models(first=parts, lines=parts, others={PAGE_MODEL: parts}), parts)
    assert isinstance(found.first, LineByLine)
    assert found.reader(first) is found.first
    assert isinstance(found.reader(other), WholePages)
    assert found.reader(other) is found.reader(other)


def test_without_a_line_reader_the_model_is_first() -> None:
    found = planned(Config(model=PAGE_MODEL))
    assert isinstance(found.first, WholePages)
    assert (found.first.marks_pages, found.first.sees_print) == (True, False)


def test_the_toy_reader_of_the_readme_reads_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reader_plan, "READERS", {**READERS, "lines": lambda models, workers: toy()})
    database = str(tmp_path / "a.db")
    values = {"ingest": {"paths": [str(SAMPLES / "letter.png")]}, "store": {"database": database}}
    summary = run_quietly(load(None, [], [("test", values)]))
    assert summary.pages == {"ok": 1}
    (row,) = rows(database)
    assert re.fullmatch(r"\d% of this page is dark", row["text"])
