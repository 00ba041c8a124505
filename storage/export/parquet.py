"""Parquet: a row a page, with the fields of jsonl, blocks and words nested. Needs pyarrow (the extra `parquet`)."""

from collections.abc import Callable, Iterable, Mapping
from typing import IO, TYPE_CHECKING

from storage.errors import MissingExtraError
from storage.export.rows import PageRow

if TYPE_CHECKING:
    import pyarrow

# A row group is what a reader loads at least, and what this holds in memory.
_PAGES_A_GROUP = 256
_CHARACTERS_A_GROUP = 4_000_000


def write(
    rows: Iterable[PageRow], stream: IO[bytes], notes: Callable[[], Mapping[str, str]] | None = None
) -> None:
    """Writes the pages in row groups. No pages: a file with the columns alone.

    notes: key-value metadata of the file, asked for after the last page.

    Raises: MissingExtraError without pyarrow.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("--format parquet needs pyarrow: pip install pyarrow") from error
    schema = _schema()
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        for group in _groups(rows):
            writer.write_table(pyarrow.Table.from_pylist(group, schema=schema), row_group_size=len(group))
        if notes is not None:
            writer.add_key_value_metadata(dict(notes()))


def _groups(rows: Iterable[PageRow]) -> Iterable[list[dict[str, object]]]:
    group: list[dict[str, object]] = []
    size = 0
    for row in rows:
        group.append({**row, "timings": list(row["timings"].items())})
        size += len(row["text"] or "") + len(row["markdown"] or "") + 40 * len(row["words"])
        if len(group) == _PAGES_A_GROUP or size >= _CHARACTERS_A_GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def _schema() -> "pyarrow.Schema":
    import pyarrow as pa

    text, box = pa.string(), pa.list_(pa.int32())
    block = [("label", text), ("box", box), ("text", text), ("confidence", pa.float64()), ("source", text)]
    word = [("text", text), ("box", box), ("confidence", pa.float64())]
    error = [("stage", text), ("category", text), ("message", text)]
    return pa.schema(
        [
            ("path", text), ("sha256", text), ("page", pa.int32()), ("status", text), ("text", text),
            ("markdown", text), ("confidence", pa.float64()), ("blocks", pa.list_(pa.struct(block))),
            ("timings", pa.map_(text, pa.float64())), ("error", pa.struct(error)), ("source", text), ("rung", text),
            ("rotation_deg", pa.int32()), ("layer_agreement", pa.float64()), ("script", text), ("doubt", text),
            ("superseded", pa.bool_()), ("words", pa.list_(pa.struct(word))), ("width_px", pa.int32()),
            ("height_px", pa.int32()), ("dpi", pa.float64()), ("corrected_by", text), ("corrected_at", text),
        ]
    )  # fmt: skip
