import json
from pathlib import Path

import pytest

from tests.benchmarks.decoding.draft_savings import Cost, PageCosts, by_page, main, summary
from tests.benchmarks.prompts.tiny_pages import tiny_checkpoint, tiny_pages


def page(name: str, *, steps: int, seconds: float, same: bool = True) -> PageCosts:
    return PageCosts(
        page=name,
        group="scan",
        plain=Cost(tokens=101, stepped=100, steps=100, cpu_s=4.0, wall_s=2.0),
        drafted=Cost(tokens=101, stepped=100, steps=steps, cpu_s=seconds, wall_s=seconds / 2),
        same=same,
    )


def test_parts_of_a_page_are_added_up() -> None:
    (found,) = by_page([page("a", steps=10, seconds=1.0), page("a", steps=30, seconds=1.0, same=False)])
    assert found.drafted == Cost(tokens=202, stepped=200, steps=40, cpu_s=2.0, wall_s=1.0)
    assert found.drafted.tokens_a_step == 5.0
    assert found.speed_up("cpu_s") == 4.0
    assert not found.same


def test_a_group_is_summed_and_its_median_page_told() -> None:
    told = summary(
        [
            page("a", steps=10, seconds=1.0),
            page("b", steps=20, seconds=2.0),
            page("c", steps=50, seconds=5.0, same=False),
        ]
    )
    assert told["tokens_a_step"] == pytest.approx(300 / 80)
    assert (told["tokens_a_step_median"], told["tokens_a_step_least"]) == (5.0, 2.0)
    assert (told["speed_up_cpu_s"], told["speed_up_cpu_s_median"]) == (1.5, 2.0)
    assert (told["pages_slower"], told["pages_not_the_same"]) == (1, 1)


def test_a_page_that_ends_at_once_takes_no_step() -> None:
    assert Cost().tokens_a_step == 1.0


def test_the_program_runs_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages, model = tiny_pages(tmp_path / "pages"), tiny_checkpoint(tmp_path / "tiny")
    output = tmp_path / "figures.json"
    options = ["--cache", str(pages), "--model", str(model), "--pages", "3", "--cap", "12", "--slots", "1,2"]
    for engine in ("engine", "paged"):
        assert main([str(output), *options, "--engine", engine]) == 0
        found = json.loads(output.read_text())
        assert found["engine"] == engine
        for slots in ("slots_1", "slots_2"):
            assert [one["page"] for one in found[slots]["pages"]] == [
                "born-digital/p0",
                "born-digital/p2",
                "scan/p1",
            ]
            assert all(one["same"] and one["drafted"]["tokens"] > 0 for one in found[slots]["pages"])
            assert found[slots]["groups"]["scan"]["speed_up_cpu_s"] > 0
    assert "born-digital: 2 pages, " in capsys.readouterr().out
