"""What is installed: every package of the program, and nothing of what trained its models."""

import tomllib
from pathlib import Path

from setuptools import find_packages

ROOT = Path(__file__).parent.parent


def test_training_is_not_installed() -> None:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    finder = found["packages"]["find"]
    packages = {
        name
        for where in finder["where"]
        for name in find_packages(str(ROOT / where), include=finder["include"], exclude=finder["exclude"])
    }
    assert {
        "ocr.line_reader",
        "ocr.learning",
        "pipeline.finetune",
        "pipeline.cli",
        "storage.records",
    } <= packages
    assert not {name for name in packages if name.startswith("ocr.training")}
    # Package data is named by its place below a package, and would bring in files of folders that are none.
    assert not [path for path in found["package-data"]["ocr"] if path.startswith("training")]
