"""The command as a module: `python -m ocrbatch`, and the version as `ocrbatch.__version__`.

What is behind it lies in packages with common names (pipeline, storage, ...), which another project may have as well:
here that is looked for before any of them is imported.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from importlib import metadata

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


def foreign_packages() -> list[str]:
    """Returns a sentence for each of ocrbatch's packages in whose place another one would be imported, or none."""
    return [f"{problem}; {_REMEDY}" for problem in _problems()]


def main() -> int:
    """Runs the command line and returns its exit code; 1 and a message where packages are not ocrbatch's own."""
    if problems := foreign_packages():
        for problem in problems:
            print(f"ocrbatch: {problem}", file=sys.stderr)
        return 1
    from pipeline.cli.main import main as run

    return run()


def _problems() -> Iterator[str]:
    own = os.path.dirname(os.path.realpath(__file__))
    for name in _PACKAGES:
        found = _place(name)
        expected = os.path.join(own, name)
        if found is None:
            yield f"its package {name} is missing beside {own}"
        elif os.path.realpath(found) != expected:
            yield f"another package is called {name} ({found}) and hides ocrbatch's own ({expected})"


def _place(name: str) -> str | None:
    """Where the package would be imported from; nothing of it is run."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return next(iter(spec.submodule_search_locations), None)
    return spec.origin


if __name__ == "__main__":
    sys.exit(main())
