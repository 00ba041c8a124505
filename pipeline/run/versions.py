"""Lists the versions that a run depends on, which its row and its log keep."""

import contextlib
from functools import cache
from importlib import metadata
from platform import python_version

_VERSIONS_OF = ("ocrbatch", "torch", "transformers", "tokenizers", "pymupdf", "pillow", "numpy", "av")


@cache
def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages a run uses, by name, without importing them.

    The dictionary is cached: do not modify it.
    """
    found = {"python": python_version()}
    for name in _VERSIONS_OF:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
