"""The program that makes pages which cannot be read, and its check, which can fail."""

import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.faults.doubt import doubtful
from tests.faults.doubt.doubtful import KINDS, WEAR, Expected, FontMissingError, build, faults


def row(kind: str, status: str, doubt: str | None = None) -> Any:
    path = f"pages/{kind}/clean.png"
    return {"path": path, "status": status, "doubt": doubt, "confidence": 0.1, "text": "Pycckuu"}


def test_kinds_whose_font_is_missing_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unset(_: random.Random) -> Image.Image:
        raise FontMissingError("no such font")

    kinds = {"dot_grid": KINDS["dot_grid"], "hand": Expected(make=unset, writing=True)}
    monkeypatch.setattr(doubtful, "KINDS", kinds)
    assert build(tmp_path) == len(WEAR)
    assert "left out: hand: no such font" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.rglob("*.png")) == sorted(f"{wear}.png" for wear in WEAR)


def test_the_check_finds_nonsense_that_is_ok_and_writing_that_is_blank() -> None:
    fine = [row("arabic", "doubtful", "why"), row("dot_grid", "blank"), row("hand", "failed")]
    assert faults(iter(fine)) == []
    wrong = [row("arabic", "ok"), row("arabic", "blank"), row("dot_grid", "ok"), row("hand", "doubtful")]
    assert len(faults(iter(wrong))) == 4
