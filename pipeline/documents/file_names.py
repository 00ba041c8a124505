"""Names files for libraries that know no names but UTF-8, which file systems do not ask for."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def utf8_name(path: str) -> Iterator[str]:
    """Yields a name to open a file by, within the block: its path, or its descriptor's where the path is not UTF-8.

    Raises: OSError where the file cannot be opened.
    """
    with open(path, "rb") as file:
        is_utf8 = not any("\ud800" <= letter <= "\udfff" for letter in path)
        yield path if is_utf8 else f"/dev/fd/{file.fileno()}"
