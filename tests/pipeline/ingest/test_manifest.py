import sys
from pathlib import Path

import pytest

from pipeline.documents.settings import IngestSettings
from pipeline.errors import ConfigError
from pipeline.ingest.walk import walk
from pipeline.types import InputFile


def found(folder: Path, manifest: str, *paths: str) -> list[str]:
    items = walk(paths, IngestSettings(manifest=str(folder / manifest)))
    return [
        f"{item.status}: {item.reason}"
        if isinstance(item, InputFile)
        else item.path.removeprefix(f"{folder}/")
        for item in items
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.pdf", "b, c.pdf", "in/d.pdf", "in/e.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


ROWS = ["b, c.pdf", "a.pdf", "s3://box/what?.pdf", "./a.pdf", "in", "s3://box/what?.pdf"]
EXPECTED = ["b, c.pdf", "a.pdf", "s3://box/what?.pdf", "in/d.pdf", "in/e.pdf"]


def test_a_text_has_a_path_a_line(folder: Path) -> None:
    (folder / "list.txt").write_text("\n".join(ROWS) + "\n\n")
    assert found(folder, "list.txt") == EXPECTED


def test_a_csv_has_a_column_path(folder: Path) -> None:
    (folder / "list.csv").write_text("id,path\n" + "".join(f'1,"{row}"\n' for row in ROWS))
    assert found(folder, "list.csv") == EXPECTED


def test_json_lines_have_a_key_path(folder: Path) -> None:
    (folder / "list.jsonl").write_text("".join(f'{{"path": "{row}"}}\n' for row in ROWS) + '{"x": 1}\nno\n')
    no_path = "broken: row {} of the manifest has no path"
    assert found(folder, "list.jsonl") == [*EXPECTED, no_path.format(7), no_path.format(8)]


def test_parquet_has_a_column_path(folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"id": range(len(ROWS)), "path": ROWS}), folder / "list.parquet")
    assert found(folder, "list.parquet") == EXPECTED


def test_paths_come_first_and_nothing_comes_twice(folder: Path) -> None:
    (folder / "list.txt").write_text("in/d.pdf\na.pdf\n")
    assert found(folder, "list.txt", str(folder / "in")) == ["in/d.pdf", "in/e.pdf", "a.pdf"]


def test_what_is_not_there_is_a_document_with_the_reason(folder: Path) -> None:
    (folder / "list.txt").write_text("nothing.pdf\na.pdf\ns3://key:secret@box/a.pdf\n")
    missing, there, refused = found(folder, "list.txt")
    assert (missing, there) == ("broken: no such file; the manifest names it", "a.pdf")
    assert "credentials" in refused
    assert "secret@" not in refused


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("list.csv", "name\na.pdf\n", "has no column path; it has name"),
        ("list.jsonl", '{"name": 1}\n', "no JSON object with the key path"),
        ("list.parquet", "no", "cannot read the manifest"),
        ("none.txt", None, "No such file"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_an_error_at_once(
    folder: Path, name: str, content: str | None, reason: str
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    if content is not None:
        (folder / name).write_text(content)
    with pytest.raises(ConfigError, match=reason):
        found(folder, name)


def test_without_pyarrow_it_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "list.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="pip install pyarrow"):
        found(folder, "list.parquet")
