"""A figure that got worse is told; that the documents hold the figures is tested in tests/test_docs.py."""

from pathlib import Path

from tests.benchmarks import headline


def figure(value: float, *, yardstick: float = 1.0, machine: str = "one") -> dict[str, object]:
    return {"value": value, "machine": machine, "commit": "abc", "yardsticks": {"rate": yardstick}}


def test_a_figure_that_got_worse_is_told() -> None:
    kept = {"a.cer.ocrbatch": figure(0.05), "a.f1.ocrbatch": figure(0.9), "small.pages_s": figure(30)}
    better = {"a.cer.ocrbatch": figure(0.04), "a.f1.ocrbatch": figure(0.95), "small.pages_s": figure(40)}
    assert headline.worse(kept, better) == []
    bad = {"a.cer.ocrbatch": figure(0.06), "a.f1.ocrbatch": figure(0.8), "small.pages_s": figure(26)}
    assert [line.split()[1] for line in headline.worse(kept, bad)] == list(bad)


def test_speed_is_held_against_what_the_machine_reaches() -> None:
    kept = {"small.pages_s": figure(30, yardstick=100), "a.cpu_s.ocrbatch": figure(1.5, yardstick=2.0)}
    slower = {"small.pages_s": figure(20, yardstick=70), "a.cpu_s.ocrbatch": figure(2.2, yardstick=3.0)}
    assert headline.worse(kept, slower) == []
    same = {"small.pages_s": figure(20, yardstick=100), "a.cpu_s.ocrbatch": figure(2.2, yardstick=2.0)}
    assert len(headline.worse(kept, same)) == 2
    elsewhere = {key: its | {"machine": "another"} for key, its in same.items()}
    assert headline.worse(kept, elsewhere) == []


def test_figures_are_kept_by_their_runs_and_come_back_as_they_were(tmp_path: Path) -> None:
    made = headline.load()
    headline.save(tmp_path / "figures.json", made)
    assert headline.load(tmp_path / "figures.json") == made
    assert (tmp_path / "figures.json").read_bytes() == headline.FILE.read_bytes()
