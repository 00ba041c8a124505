"""The package that is installed as `ocrbatch`: version, `python -m`, and packages of others under the same names."""

import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from pipeline.cli.ocrbatch import foreign_packages

ROOT = Path(__file__).parents[3]
# Both come before an installation on the path: the package under its own name, and what it looks for.
SOURCES = os.pathsep.join([str(ROOT / "pipeline" / "cli"), str(ROOT)])


def started(*arguments: str, path: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


def test_it_has_the_version_and_imports_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys, ocrbatch; print(ocrbatch.__version__, 'click' in sys.modules, 'pipeline' in sys.modules)"
    )
    done = started("-c", script, path=SOURCES, cwd=tmp_path)
    assert done.stdout.split() == [metadata.version("ocrbatch"), "False", "False"]


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = started("-m", "ocrbatch", "run", "--help", path=SOURCES, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: ocrbatch run")


def test_numpy_keeps_no_waiting_threads(tmp_path: Path) -> None:
    script = (
        "import sys, ocrbatch; sys.argv[1:] = ['--version']\ntry: ocrbatch.main()\nexcept SystemExit: pass\n"
        "import numpy, threadpoolctl; print([one['num_threads'] for one in threadpoolctl.threadpool_info()])"
    )
    done = started("-c", script, path=SOURCES, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[1]", done.stderr


def test_a_foreign_package_is_named_with_what_to_do(tmp_path: Path) -> None:
    """First on the path, as PYTHONPATH or the working directory of `python -m` puts it; nothing of it is run."""
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "__init__.py").write_text("raise SystemExit('somebody else ran')")
    path = os.pathsep.join([str(tmp_path), SOURCES])
    done = started("-m", "ocrbatch", "--version", path=path, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"ocrbatch: another package is called pipeline ({tmp_path / 'pipeline'}) and hides"
    )
    assert "pipx" in line
    assert "PYTHONPATH" in line


def test_here_all_packages_are_its_own() -> None:
    assert list(foreign_packages()) == []


def test_it_is_installed_as_a_package_of_its_own_that_is_the_command() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"ocrbatch": "ocrbatch:main"}
    find = project["tool"]["setuptools"]["packages"]["find"]
    assert find["where"] == [".", "pipeline/cli"]
    assert "pipeline.cli.ocrbatch*" in find["exclude"], "it is not installed twice"
