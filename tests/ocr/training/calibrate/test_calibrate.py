import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ocr.training.calibrate.__main__ import read
from ocr.training.calibrate.reliability import Rated, Reading, calibrate, report
from ocr.transcript.confidence import Calibration
from tests.pipeline.checkpoints import save_reader


def readings(count: int) -> list[Reading]:
    """Pages and blocks whose accuracy falls with one signal; the raw confidence is always 0.99."""
    rng = random.Random(0)
    out = []
    for number in range(count):
        doubt = rng.random()
        features = {"unsure": doubt, "unseen": rng.random()}
        for is_page in (True, False):
            rated = Rated(features=features, accuracy=1 - doubt / 2, group=number, weight=1.0)
            out.append(Reading(rated=rated, raw=0.99, kind="real", is_page=is_page))
    return out


def test_what_was_read_is_fitted_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calibrate(readings(60), tmp_path)
    curve = Calibration.read(tmp_path / "confidence.json").page
    sure, doubtful = (curve({"unsure": doubt, "unseen": 0.5}) for doubt in (0.0, 1.0))
    assert sure == pytest.approx(1, abs=0.1)
    assert doubtful == pytest.approx(0.5, abs=0.1)
    assert "60 pages\nuncalibrated: expected calibration error 2" in capsys.readouterr().out


def test_the_report_counts_pages_that_were_given_invented_text() -> None:
    good = readings(20)
    bad = Reading(rated=good[0].rated, raw=0.5, kind="empty", is_page=True)
    assert list(report(good))[-1].endswith(": 0")
    assert list(report([*good, bad]))[-1].endswith(": 1")


def test_pages_are_read_and_rated(tmp_path: Path) -> None:
    model = save_reader(tmp_path / "model")
    (tmp_path / "pages").mkdir()
    for name, truth in (("real-0.png", "very " * 60), ("empty-1.png", "")):
        Image.fromarray(np.zeros((64, 64), np.uint8)).save(tmp_path / "pages" / name)
        (tmp_path / "truth" / name).mkdir(parents=True)
        (tmp_path / "truth" / name / "1.txt").write_text(truth)
    found = list(read(tmp_path, str(model)))
    pages = {reading.kind: reading for reading in found if reading.is_page}
    assert set(pages) == {"real", "empty"}, "without a character head no page is taken for empty"
    assert pages["empty"].rated.accuracy == 0
    assert pages["real"].rated.accuracy > 0.9
    assert set(pages["real"].rated.features) == {"unsure", "surprise", "unfinished"}
    assert 0 < pages["real"].raw < 1
    (block,) = (reading for reading in found if not reading.is_page and reading.kind == "real")
    assert block.rated.weight > 100
    assert block.rated.group == pages["real"].rated.group
