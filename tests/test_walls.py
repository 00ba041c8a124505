"""Walls between rooms: each contract of pyproject.toml breaks where a copy of the sources imports what it forbids."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("pipeline", "ocr", "encoders", "storage")
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
# contract -> a file, and an import that the contract forbids in it. Each import breaks this contract.
FORBIDDEN = {
    "packages": ("encoders/types.py", "import ocr.types"),
    "storage": ("storage/types.py", "import encoders.views"),
    "circles": ("pipeline/stages/discover.py", "import pipeline.ingest.workers.worker"),
    "pipeline-rooms": ("pipeline/stages/render.py", "import pipeline.run.runner"),
    "ocr-rooms": ("ocr/transcript/grounding.py", "import ocr.decoding.requests"),
    "encoders-rooms": ("encoders/attention/switch.py", "import encoders.deepseek.sam"),
    "storage-rooms": ("storage/database.py", "import storage.export.formats"),
    "torch-free": ("pipeline/documents/sniff.py", "import torch"),
    "training": ("pipeline/verify.py", "import ocr.training.lines.train_reader"),
}
# Most lines of source in each room, and beside the rooms of a package. What grows takes something out, or says why.
BUDGETS = {
    "encoders": 429, "encoders/attention": 663, "encoders/deepseek": 620, "encoders/deepseek2": 101,
    "encoders/graphs": 2_684, "encoders/minicpm": 668, "encoders/native": 986, "encoders/pointwise": 327,
    "ocr": 210, "ocr/checkpoints": 302, "ocr/decoding": 3_458, "ocr/families": 2_884, "ocr/imaging": 680,
    "ocr/learning": 340, "ocr/line_networks": 520, "ocr/line_reader": 4_900, "ocr/model": 291,
    "ocr/model_files": 296, "ocr/orientation": 340, "ocr/paragraphs": 1_000, "ocr/training": 8_600,
    "ocr/transcript": 2_050, "pipeline": 1_040, "pipeline/api": 450, "pipeline/bench": 2_590,
    "pipeline/cli": 1_470, "pipeline/cluster": 1_630, "pipeline/config": 1_200, "pipeline/device": 2_790,
    "pipeline/doctor": 950, "pipeline/documents": 3_420, "pipeline/export": 480, "pipeline/finetune": 410,
    "pipeline/html_report": 330, "pipeline/ingest": 2_790, "pipeline/outcome": 220, "pipeline/plugins": 320,
    "pipeline/readers": 410, "pipeline/reports": 1_100, "pipeline/rereading": 420, "pipeline/run": 1_730,
    "pipeline/stages": 850, "pipeline/text_layer": 3_091, "pipeline/viewer": 810, "storage": 940,
    "storage/datasette": 30, "storage/export": 2_890, "storage/queries": 930, "storage/records": 870,
    "storage/recovery": 320, "storage/strings": 260, "storage/upkeep": 430,
}  # fmt: skip


def lint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=no_sources)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def no_sources(_: str, names: list[str]) -> list[str]:
    return [name for name in names if "." in name and not name.endswith(".py")]


def test_every_wall_holds_and_stands_in_the_way(copy: Path) -> None:
    """One after the other, each contract is kept without its forbidden import and broken with it."""
    assert set(FORBIDDEN) == {contract["id"] for contract in LINTER["contracts"]}
    kept = lint(copy)
    assert kept.returncode == 0, kept.stdout + kept.stderr
    for contract, (name, line) in FORBIDDEN.items():
        path = copy / name
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}\n{line}\n", encoding="utf-8")
        broken = lint(copy, "--contract", contract)
        path.write_text(text, encoding="utf-8")
        assert broken.returncode == 1, f"{contract} is kept although {name} says `{line}`:\n{broken.stdout}"
        assert "0 kept, 1 broken" in broken.stdout, broken.stdout + broken.stderr


def test_no_module_stands_beside_the_packages() -> None:
    assert list(ROOT.glob("*.py")) == []


def test_no_room_outgrows_its_budget() -> None:
    lines = Counter[str]()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            room = path.relative_to(ROOT).parts[:-1][:2]
            lines["/".join(room)] += len(path.read_text(encoding="utf-8").splitlines())
    grown = {room: num for room, num in lines.items() if num > BUDGETS.get(room, 0)}
    assert not grown, f"more lines than BUDGETS allows: {grown}"
    assert {room for room in BUDGETS if not lines[room]} == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_basename_stands_twice_in_a_package(package: str) -> None:
    """Neither of modules nor of folders, so that a name says which file is meant; `__main__` must be called so."""
    files = [path for path in (ROOT / package).rglob("*.py") if path.stem not in ("__init__", "__main__")]
    folders = {path.parent for path in (ROOT / package).rglob("*.py")} - {ROOT / package}
    names = Counter([path.stem for path in files] + [folder.name for folder in folders])
    assert {name for name, num in names.items() if num > 1} == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_class_name_stands_twice_in_a_package(package: str) -> None:
    """But for `ocr/training`, which is not installed."""
    sources = [path for path in (ROOT / package).rglob("*.py") if "training" not in path.parts]
    named = (
        re.findall(r"^class ([A-Z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE) for path in sources
    )
    assert [name for name, num in Counter(chain.from_iterable(named)).items() if num > 1] == []


def test_every_readme_of_a_room_is_short_and_names_files_that_are_there() -> None:
    readmes = [path for package in PACKAGES for path in (ROOT / package).rglob("README.md")]
    assert {path.parent.name for path in readmes} >= set(PACKAGES)
    for path in readmes:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 60, f"{path}: {len(text.splitlines())} lines"
        for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`", text):
            above = path.parent.parents[: len(path.relative_to(ROOT).parts) - 1]
            is_there = any(path.parent.rglob(name)) or any((room / name).exists() for room in above)
            assert is_there, f"{path}: {name} is not there"


def test_no_group_has_a_possessive_quantifier() -> None:
    """Python 3.11.2, that of Debian 12, matches such groups wrongly (gh-106052); single characters are right."""
    possessive = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert not [path for path in sources if possessive.search(path.read_text(encoding="utf-8"))]


def test_no_room_above_the_workers_asks_whether_a_page_has_pixels() -> None:
    """The kind of page says so; these rooms match it."""
    asked = re.compile(r"\.(?:grey|colour|ink|rest|frames) is (?:not )?None")
    sources = [
        path for room in ("run", "rereading", "readers") for path in (ROOT / "pipeline" / room).glob("*.py")
    ]
    assert not [path for path in sources if asked.search(path.read_text(encoding="utf-8"))]
