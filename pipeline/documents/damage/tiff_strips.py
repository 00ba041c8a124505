"""Tells which strips or tiles of a TIFF's frame are missing or short. Runs in workers. Source: TIFF 6.0, 3 and 15."""

from collections.abc import Iterator
from typing import Any

from pipeline.documents.damage.premature_end import fax_rows, lacks_rows

Extents = list[tuple[int, int]]
# Strips of raw pixels whose size follows from the picture's: bilevel, grey, RGB, palette and CMYK ones.
_PLAIN = (0, 1, 2, 3, 5)
_UNPACKED, _GROUP4 = 1, 4
# The fill order in which a byte's lowest bit comes first, and the bytes turned round.
_LOWEST_FIRST = 2
_TURNED = bytes(int(f"{number:08b}"[::-1], 2) for number in range(256))


def extents(tags: Any) -> Extents:
    """Returns where the frame's data is, (start, end) in bytes of each strip or tile."""
    starts, counts = (tags.get(strips, tags.get(tiles, ())) for strips, tiles in ((273, 324), (279, 325)))
    try:
        return [(int(start), int(start) + int(count)) for start, count in zip(starts, counts, strict=False)]
    except (TypeError, ValueError):
        return []


def are_missing(tags: Any, num_bytes: int) -> bool:
    """Returns whether strips or tiles were never written, or raw ones are shorter than their pixels.

    num_bytes: the file's. Strips may share their data, and a count that is wrong costs nothing where the data is there.
    """
    found = extents(tags)
    if not found:
        return False
    if any(start == 0 or start >= num_bytes for start, _ in found):
        return True
    empty = [start == end for start, end in found]
    if any(empty) and not all(empty):
        return True
    sizes = list(_sizes(tags))
    if len(found) < len(sizes):
        return True
    bits = tags.get(258, (1,))
    if tags.get(259, _UNPACKED) != _UNPACKED or tags.get(262) not in _PLAIN:
        return False
    depth = bits[0] if tags.get(284, 1) == 2 else sum(bits)
    begins = sorted({start for start, _ in found} | {num_bytes})
    for (start, end), (width, height) in zip(found, sizes, strict=False):
        room = next(begin for begin in begins if begin > start) - start
        if max(end - start, room) < -(-width * depth // 8) * height:
            return True
    return False


def lacks_fax_lines(file: Any, tags: Any) -> bool:
    """Returns whether group 4 data ends before its strip does. file: open for reading bytes."""
    if tags.get(259) != _GROUP4 or 324 in tags:
        return False
    for (start, end), (width, height) in zip(extents(tags), _sizes(tags), strict=False):
        file.seek(start)
        data = file.read(end - start)
        try:
            rows = fax_rows(data.translate(_TURNED) if tags.get(266) == _LOWEST_FIRST else data, width)
        except ValueError:
            continue
        if lacks_rows(rows, height):
            return True
    return False


def _sizes(tags: Any) -> Iterator[tuple[int, int]]:
    """Yields width and height of each strip or tile that the frame should have."""
    width, height = int(tags.get(256, 0)), int(tags.get(257, 0))
    planes = int(tags.get(277, 1)) if tags.get(284, 1) == 2 else 1
    for _ in range(planes):
        if 324 in tags:
            across, down = int(tags[322]), int(tags[323])
            yield from [(across, down)] * (-(-width // across) * -(-height // down))
            continue
        rows = min(int(tags.get(278, height)), height) or height
        for top in range(0, height, rows):
            yield width, min(rows, height - top)
