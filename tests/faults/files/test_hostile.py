"""The hostile corpus in its short form: a few dozen of its files, and the good ones among them."""

import json
import os
import shutil
from pathlib import Path

import pytest

from pipeline.documents.settings import IngestSettings
from pipeline.ingest.walk import walk
from tests.faults.files import hostile, hostile_files
from tests.faults.rig import tables


def test_the_same_seed_makes_the_same_files() -> None:
    assert list(hostile_files.contents(3)) == list(hostile_files.contents(3))


def test_the_corpus_has_hundreds_of_different_files() -> None:
    found = list(hostile_files.contents(0))
    assert len({(group, name) for group, name, _ in found}) == len(found)
    assert len({data for _, _, data in found}) > 250
    assert len(found) + 2 * len(hostile_files.NAMES) > 300


def test_a_run_over_hostile_files_reads_the_good_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "hostile"
    count = hostile_files.build(folder, quick=True, every=8)
    assert count > 50
    (tmp_path / "db").mkdir()
    code = hostile.main(["run", str(folder), "--db", str(tmp_path / "db" / "results.db"), "--fork"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0, found["faults"]
    assert found["num_good_equal"] == found["num_good_pages"] > 20
    assert found["documents"]["broken"] > 20
    assert not found["crashes"]
    if os.geteuid() != 0 or shutil.which("setpriv"):
        row = tables.contents(tmp_path / "db" / "results.db")["files"][
            (str(folder / "special" / "unreadable.pdf"),)
        ]
        assert (row["status"], row["reason"]) == ("broken", "cannot be read: Permission denied")


def test_names_that_are_not_utf8_are_told_apart(tmp_path: Path) -> None:
    for name in (b"not utf8 \xff.pdf", b"not utf8 \xfe.pdf"):
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_bytes(b"%PDF-1.7")
    found = [file.path for file in walk([str(tmp_path)], IngestSettings())]
    assert len(set(found)) == 2
