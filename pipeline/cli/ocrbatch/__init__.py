"""The command's own package, installed as `ocrbatch`: `python -m ocrbatch`, and the version as `ocrbatch.__version__`.

What is behind it lies in packages with common names (pipeline, storage, ...), which another project may have as well:
here that is looked for before any of them is imported.
"""

import importlib.util
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

__all__ = ["__version__", "foreign_packages", "main"]

_PACKAGES = ("pipeline", "ocr", "encoders", "storage", "configs")
_REMEDY = (
    "take its folder out of PYTHONPATH, start ocrbatch from another folder, or install it into an environment of its "
    "own: pipx install ocrbatch, or uv tool install ocrbatch"
)

try:
    __version__ = metadata.version("ocrbatch")
except metadata.PackageNotFoundError:  # a source tree on the path, not installed
    __version__ = "unknown"


def foreign_packages() -> Iterator[str]:
    """Yields a sentence for each of ocrbatch's packages in whose place another one would be imported."""
    own = _own_folder()
    for name in _PACKAGES:
        found, expected = _place(name), own / name
        if found is None:
            yield f"its package {name} is missing beside {own}; {_REMEDY}"
        elif found.resolve() != expected:
            yield f"another package is called {name} ({found}) and hides ocrbatch's own ({expected}); {_REMEDY}"


def main() -> int:
    """Runs the command line and returns its exit code; 1 and a message where packages are not ocrbatch's own."""
    if problems := list(foreign_packages()):
        for problem in problems:
            print(f"ocrbatch: {problem}", file=sys.stderr)
        return 1
    from pipeline.cli.main import main as run

    return run()


def _own_folder() -> Path:
    """Returns the folder of ocrbatch's packages: beside this one if installed, else above pipeline/cli."""
    beside = Path(__file__).resolve().parents[1]
    return beside.parents[1] if beside.parts[-2:] == ("pipeline", "cli") else beside


def _place(name: str) -> Path | None:
    """Returns where the package would be imported from; nothing of it is run."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    place = next(iter(spec.submodule_search_locations or ()), spec.origin)
    return None if place is None else Path(place)
