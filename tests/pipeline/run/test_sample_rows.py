"""Rows of the samples under several settings, against sample_rows.json: what a run stores but for times and confidence.

`python -m tests.pipeline.run.test_sample_rows` writes the file anew; a commit that changes it says why. That two
workers store the same is in tests/pipeline/cluster/test_local_workers.py; videos have rows in test_run_families.py.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.pipeline.checkpoints import READS_TEXT, save_reader
from tests.pipeline.runs import rows

SAMPLES = Path(__file__).parents[2] / "samples"
STORED = Path(__file__).with_name("sample_rows.json")
_COLUMNS = (
    "status", "error", "source", "rung", "rotation_deg", "layer_agreement", "script", "doubt", "superseded",
)  # fmt: skip
_SIZE = ("width_px", "height_px", "dpi")
WHOLE, TWO = "read whole", "two workers"  # by a tiny page model that reads the same from every page
# name -> files, and options.
SETTINGS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "default": (("letter.png", "photo.jpg", "report.pdf", "scanned.pdf", "two-column.pdf"), ()),
    "layers ignored, and a ladder": (
        ("two-column.pdf",),
        ("--set=text_layer=ignore", "--set=ladder.below=1", "--set=ladder.rungs=[{name: finer, dpi: 250}]"),
    ),
    "layers compared": (("report.pdf",), ("--pages=1", "--set=text_layer=compare")),
    WHOLE: (("letter.png",), ()),
    TWO: (("letter.png", "report.pdf"), ("--workers=2",)),
}


def stored(name: str, folder: Path, *more: str) -> list[dict[str, Any]]:
    """Returns what a run with these settings stores. more: further options."""
    (files, options), database = SETTINGS[name], str(folder / "rows.db")
    if name in (WHOLE, TWO):
        options = (
            "--model",
            str(save_reader(folder / "model")),
            *(f"--set={key}" for key in READS_TEXT),
            *options,
        )
    paths = [str(SAMPLES / file) for file in files]
    command = [sys.executable, "-m", "ocrbatch", "run", *paths, *options, *more, "--quiet", "--db", database]
    subprocess.run(command, check=True)
    return [_row(row) for row in rows(database)]


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    text = f"{row['text']}\0{row['markdown']}"
    return {
        "page": f"{Path(row['path']).name} {row['page']}",
        "size": "{} x {} px, {} dpi".format(*(row[name] and round(row[name]) for name in _SIZE)),
        "begins": (row["text"] or "")[:40],
        "texts": hashlib.sha256(text.encode()).hexdigest()[:16],
        "blocks": len(row["blocks"] or ()),
        **{name: row[name] for name in _COLUMNS if row[name]},
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_the_samples_are_stored_as_they_were(name: str, tmp_path: Path) -> None:
    assert stored(name, tmp_path) == json.loads(STORED.read_text("utf-8"))[name]


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_reads_the_samples_alike(tmp_path: Path) -> None:
    assert (
        stored("default", tmp_path, "--set=device=cuda") == json.loads(STORED.read_text("utf-8"))["default"]
    )


def main() -> None:
    made = {}
    for name in SETTINGS:
        with tempfile.TemporaryDirectory() as folder:
            made[name] = stored(name, Path(folder))
    STORED.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
