"""A ladder of models: one reads everything, another one only what stayed in doubt."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.device.threads.threaded_model import Model
from pipeline.errors import ConfigError
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.ocr.families.published import tiny_published
from tests.pipeline.conftest import MakePdf
from tests.pipeline.runs import rows, run_quietly


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return tiny_published.save("lighton_ocr", tmp_path / "other")


def ladder(config: Config, *rungs: dict[str, Any], below: float = 0.5) -> Config:
    section = type(config.ladder).model_validate({"below": below, "rungs": list(rungs)})
    return config.model_copy(update={"ladder": section})


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were loaded, by name."""
    names: list[str] = []
    real = Model.start

    def start(self: Model) -> None:
        if not self._threads:
            names.append(self._config.model)
        real(self)

    monkeypatch.setattr(Model, "start", start)
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
    docs: Path, config: Config, reader: Path, other: Path, loaded: list[str], make_pdf: MakePdf
) -> None:
    make_pdf(docs / "a.pdf", ["one", ""])
    summary = run_quietly(ladder(config, {"name": "large", "model": str(other), "below": 0.0}, below=0.0))
    assert summary.pages == {"ok": 1, "blank": 1}
    assert loaded == [str(reader)]
    assert not any("too:" in line for line in summary.lines())


def test_another_models_files_decide_whether_pages_were_read(
    docs: Path, config: Config, other: Path, make_pdf: MakePdf
) -> None:
    make_pdf(docs / "a.pdf", ["one"])
    config = ladder(config, {"name": "large", "model": str(other), "below": 0.0}, below=0.0)
    assert [sum(run_quietly(config).pages.values()) for _ in range(2)] == [1, 0]
    path = other / "tokenizer_config.json"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert sum(run_quietly(config).pages.values()) == 1


def test_a_model_that_cannot_be_loaded_ends_the_run_by_its_name(
    docs: Path, config: Config, database: str, other: Path
) -> None:
    noise(docs, "a.png", 1)
    (other / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(Exception, match="other"):
        run_quietly(ladder(config, {"name": "large", "model": str(other), "below": 1.0}, below=0.0))
    assert len(rows(database)) == 1, "its first reading is kept"


def test_the_shipped_reader_reads_everything_first(
    docs: Path, database: str, other: Path, loaded: list[str]
) -> None:
    """Without loading its page model: lines are read in processes, and what is in doubt goes to the other model."""
    samples = Path(__file__).parents[2] / "samples"
    (docs / "letter.png").write_bytes((samples / "letter.png").read_bytes())
    noise(docs, "noise.png", 3)
    values = {
        "ingest": {"paths": [str(docs)]},
        "store": {"database": database},
        "decode": {"max_tokens": 300},
        "ladder": {"below": 0.5, "rungs": [{"name": "large", "model": str(other)}]},
    }
    run_quietly(sources.load(None, ["device=cpu", "threads=1"], [("test", values)]))
    found = {Path(row["path"]).name: row for row in rows(database)}
    assert (found["letter.png"]["status"], found["letter.png"]["rung"]) == ("ok", None)
    assert "lines" in found["letter.png"]["timings"]
    assert loaded in ([], [str(other)]), "never the shipped page model"


@pytest.mark.parametrize(
    ("rung", "message"),
    [
        ("{name: a, model: small, reader: lines}", "another model reads whole pages"),
        ("{name: a, below: 0.5}", "a rung must change something"),
        ("{name: a, model: small, below: 2}", "less than or equal to 1"),
    ],
)
def test_rungs_without_sense_are_refused(rung: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(None, [f"ladder.rungs=[{rung}]"])
