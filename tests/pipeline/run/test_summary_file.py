import json
import os
from collections import Counter
from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.reports.summary import RunSummary
from pipeline.run.reported_run import check_summary_file, summary_content, write_summary_file


def test_the_content_is_what_the_module_says() -> None:
    summary = RunSummary(
        database="a.db", run_id=3, pages=Counter(ok=4), num_to_read=9, num_documents_left=2, wall_s=8.0
    )
    found = summary_content(summary, 5, "stopped", "SIGTERM", {"ocrbatch": "1"})
    assert json.loads(json.dumps(found)) == found
    assert (found["schema"], found["exit_code"], found["pages_per_s"]) == (1, 5, 0.5)
    assert found["left"] == {"pages": 5, "documents": 2, "all_documents_known": True}
    assert os.path.isabs(found["database"])


def test_the_file_is_replaced_as_a_whole_and_may_be_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_summary_file(str(path), {"schema": 1, "reason": "\x1b"})
    inode = path.stat().st_ino
    write_summary_file(str(path), {"schema": 2})
    assert json.loads(path.read_text()) == {"schema": 2}
    assert path.stat().st_ino != inode
    assert path.stat().st_mode & 0o444 == 0o444
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "run.json").symlink_to(tmp_path / "real" / "run.json")
    write_summary_file(str(tmp_path / "run.json"), {"schema": 1})
    assert (tmp_path / "run.json").is_symlink()
    assert (tmp_path / "real" / "run.json").exists()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    for write in (check_summary_file, lambda path: write_summary_file(path, {})):
        with pytest.raises(ConfigError, match="--summary-file"):
            write(str(tmp_path / "run.json"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]
