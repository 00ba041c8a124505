"""The Python API, and the command's own package, installed as `ocrbatch`: `python -m ocrbatch` is the command.

`read` reads one file, `run` files and folders into a database, `results` yields the pages of a database:

>>> import ocrbatch
>>> document = ocrbatch.read("tests/samples/letter.png")
>>> document.status, len(document.pages), document.pages[0].status
('ok', 1, 'ok')

Importing it imports none of what is behind it: that lies in packages with common names (pipeline, storage, ...), which
another project may have as well, so that is looked for before any of them is imported, at the first use of a name.
PyTorch is imported by `read` and `run` only, where a page needs it.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ocr.errors import CheckpointError
    from pipeline.api.page_text import Block, Document, PageText, Summary, Word
    from pipeline.api.read_files import read, run
    from pipeline.api.stored_pages import results
    from pipeline.errors import ConfigError, PipelineError
    from storage.errors import DatabaseBusyError, DatabaseNotFoundError, SelectionError, StorageError

__all__ = [
    "Block",
    "CheckpointError",
    "ConfigError",
    "DatabaseBusyError",
    "DatabaseNotFoundError",
    "Document",
    "PageText",
    "PipelineError",
    "SelectionError",
    "StorageError",
    "Summary",
    "Word",
    "__version__",
    "foreign_packages",
    "main",
    "read",
    "results",
    "run",
]

# The modules from which names are imported at their first use.
_MODULES = {
    "ocr.errors": ("CheckpointError",),
    "pipeline.api.page_text": ("Block", "Document", "PageText", "Summary", "Word"),
    "pipeline.api.read_files": ("read", "run"),
    "pipeline.api.stored_pages": ("results",),
    "pipeline.errors": ("ConfigError", "PipelineError"),
    "storage.errors": ("DatabaseBusyError", "DatabaseNotFoundError", "SelectionError", "StorageError"),
}

_PACKAGES = ("pipeline", "ocr", "encoders", "storage", "configs")
_REMEDY = (
    "take its folder out of PYTHONPATH, start ocrbatch from another folder, or install it into an environment of its "
    "own: `pipx install .` in its clone, or `uv tool install .`"
)

try:
    __version__ = metadata.version("ocrbatch")
except metadata.PackageNotFoundError:  # a source tree on the path, not installed
    __version__ = "unknown"


def __getattr__(name: str) -> object:
    """Imports a name of the API. Raises: ImportError where another project's package stands in the way."""
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if problems := list(foreign_packages()):
        raise ImportError("\n".join(problems))
    found: object = getattr(importlib.import_module(module), name)
    globals()[name] = found  # looked for once
    return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))


def foreign_packages() -> Iterator[str]:
    """Yields a sentence for each of ocrbatch's packages in whose place another one would be imported."""
    beside = Path(__file__).resolve().parents[1]  # of them if installed, else this is in pipeline/cli
    own = beside.parents[1] if beside.parts[-2:] == ("pipeline", "cli") else beside
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


def _place(name: str) -> Path | None:
    """Returns where the package would be imported from; nothing of it is run."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    place = next(iter(spec.submodule_search_locations or ()), spec.origin)
    return None if place is None else Path(place)
