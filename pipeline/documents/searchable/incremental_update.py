"""Appends changed objects to a PDF, whose own bytes stay, so that signatures over them still hold. Runs in workers.

Source: ISO 32000-1, 7.5.4 (cross-reference table), 7.5.6 (incremental updates), 7.5.8 (cross-reference streams).
"""

import re
from collections.abc import Iterable, Mapping

import pikepdf
from pikepdf import Array, Dictionary, Name

_LAST_XREF = re.compile(rb"startxref\s+(\d{1,12})\s+%%EOF\s*\Z")
# A field each for the kind of entry, the offset and the generation, in bytes.
_WIDTHS = (1, 5, 2)


class NotAppendableError(ValueError):
    """Nothing can be appended to a document; says why."""


def highest_number(pdf: pikepdf.Pdf) -> int:
    """Returns the highest object number, to be taken before anything is changed."""
    return max((part.objgen[0] for part in pdf.objects), default=0)


def appended(data: bytes, pdf: pikepdf.Pdf, changed: Iterable[pikepdf.Object], highest: int) -> bytes:
    """Returns the document with an update of the changed objects, and of those that are numbered above `highest`.

    pdf: opened from data, not encrypted. Raises: NotAppendableError.
    """
    found = _LAST_XREF.search(data)
    if not data.startswith(b"%PDF-") or found is None or int(found[1]) >= len(data):
        raise NotAppendableError("its cross-reference table is damaged")
    before = int(found[1])
    objects = {part.objgen: part for part in changed}
    if any(not 0 < number <= highest for number, _ in objects):
        raise NotAppendableError("its pages are damaged")
    objects |= {part.objgen: part for part in pdf.objects if part.objgen[0] > highest}
    made = bytearray(data if data.endswith(b"\n") else data + b"\n")
    places: dict[tuple[int, int], int] = {}
    for (number, generation), part in sorted(objects.items()):
        places[number, generation] = len(made)
        made += b"%d %d obj\n%b\nendobj\n" % (number, generation, _written(part))
    trailer = {key: pdf.trailer[key] for key in ("/Root", "/Info", "/ID") if key in pdf.trailer}
    next_number = max(highest, *(number for number, _ in objects)) + 1
    start = len(made)
    if data[before:].lstrip().startswith(b"xref"):
        made += _table(places, trailer, next_number, before)
    else:
        made += _stream({**places, (next_number, 0): start}, trailer, next_number, before)
    made += b"startxref\n%d\n%%%%EOF\n" % start
    return bytes(made)


def _written(part: pikepdf.Object) -> bytes:
    if not isinstance(part, pikepdf.Stream):
        return part.unparse(resolved=True)
    raw = part.read_raw_bytes()
    words = Dictionary({**dict(part.stream_dict.items()), "/Length": len(raw)})
    return words.unparse(resolved=True) + b"\nstream\n" + raw + b"\nendstream"


def _table(
    places: Mapping[tuple[int, int], int], trailer: Mapping[str, pikepdf.Object], size: int, before: int
) -> bytes:
    lines = b"".join(
        b"%d 1\n%010d %05d n \n" % (number, offset, generation)
        for (number, generation), offset in sorted(places.items())
    )
    ending = Dictionary({**trailer, "/Size": size, "/Prev": before})
    return b"xref\n" + lines + b"trailer\n" + ending.unparse(resolved=True) + b"\n"


def _stream(
    places: Mapping[tuple[int, int], int], trailer: Mapping[str, pikepdf.Object], number: int, before: int
) -> bytes:
    """Returns a cross-reference stream, object `number`, which is among the places."""
    entries = [
        (1).to_bytes(_WIDTHS[0], "big")
        + offset.to_bytes(_WIDTHS[1], "big")
        + key[1].to_bytes(_WIDTHS[2], "big")
        for key, offset in sorted(places.items())
    ]
    index = [value for key, _ in sorted(places.items()) for value in (key[0], 1)]
    content = b"".join(entries)
    words = Dictionary(
        {
            **trailer, "/Type": Name.XRef, "/Size": number + 1, "/Prev": before, "/W": Array(_WIDTHS),
            "/Index": Array(index), "/Length": len(content),
        }
    )  # fmt: skip
    return (
        b"%d 0 obj\n" % number
        + words.unparse(resolved=True)
        + b"\nstream\n"
        + content
        + b"\nendstream\nendobj\n"
    )
