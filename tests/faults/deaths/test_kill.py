"""The kill test in its short form: six kills, a tiny model, a few pages."""

import json
from pathlib import Path

import pytest

from tests.faults.deaths import kill
from tests.faults.rig import tables
from tests.faults.rig.launcher import Starter


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_six_kills_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code = kill.main(["--kills", "6", "--pages", "15", "--fork", "--set", "ladder.rungs=[]"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0, found["faults"]
    assert sum(found["kills"].values()) == found["num_equal"] == 6
    assert found["num_databases_equal"] == found["num_databases"] >= 1
    assert found["num_pages"] == 15


def test_a_database_that_differs_is_found_out() -> None:
    page = {"path": "a.pdf", "page_index": 0, "status": "ok", "text": "a", "confidence": 0.5}
    expected = {name: {} for name in tables.QUERIES} | {"results": {("a.pdf", 0): page}}

    def found(**changes: object) -> dict[str, tables.Table]:
        return expected | {"results": {("a.pdf", 0): page | changes}}

    assert tables.differences(expected, found(confidence=0.50001)) == []
    assert tables.differences(expected, found(text="b")) == ["results: ('a.pdf', 0): text 'a' became 'b'"]
    assert tables.differences(expected, found(confidence=0.6)) != []
    assert tables.differences(expected, expected | {"results": {}}) == ["results: ('a.pdf', 0) is missing"]
    assert tables.finished_differences(expected, found(text="b")) != []
    assert tables.finished_differences(expected, found(status="pending", text=None)) == []


def test_a_process_that_is_killed_leaves_its_code(tmp_path: Path) -> None:
    with Starter(tmp_path / "work") as starter:
        running = starter.start(["--version"])
        running.kill()
        assert running.wait(240)
        assert running.exit_code == -9
        assert running.ends_without_orphans(240)
        whole = starter.start(["--version"])
        assert whole.wait(240)
        assert whole.exit_code == 0
        assert "ocrbatch" in whole.log.read_text()
