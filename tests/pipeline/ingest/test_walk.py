import os
import socket
import sqlite3
from pathlib import Path

import pytest

from pipeline.documents.settings import IngestSettings
from pipeline.errors import ConfigError
from pipeline.ingest.walk import Candidate, walk
from pipeline.types import InputFile


def found(*paths, databases=(), **settings) -> list[str]:
    """Paths of the candidates below the working directory; unreadable things as "reason: path"."""
    values = {key: tuple(value) for key, value in settings.items()}
    items = walk([str(path) for path in paths], IngestSettings(**values), databases)
    return [
        f"{item.status}: {Path(item.path).name}" if isinstance(item, InputFile) else item.relative
        for item in items
    ]


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_files_come_in_a_stable_order(tmp_path):
    write(tmp_path, "b.pdf", "a/2.pdf", "a/10.pdf", "c/x/y.png", "c/a.png", "B.pdf")
    expected = ["B.pdf", "b.pdf", "a/10.pdf", "a/2.pdf", "c/a.png", "c/x/y.png"]
    assert found(tmp_path) == expected
    assert found(tmp_path) == expected


def test_a_file_has_one_path_however_its_folder_is_named(tmp_path, monkeypatch):
    write(tmp_path, "docs/a.pdf")
    (tmp_path / "link").symlink_to("docs")
    monkeypatch.chdir(tmp_path)
    path = str((tmp_path / "docs" / "a.pdf").resolve())
    for given in (
        "docs",
        "./docs/",
        "docs//",
        "docs/../docs",
        "link",
        "link/../docs",
        str(tmp_path / "docs"),
    ):
        (item,) = walk([given], IngestSettings())
        assert (item.path, item.relative) == (path, "a.pdf")
    for given in (".", "docs/a.pdf", "link/a.pdf", path):
        (item,) = walk([given], IngestSettings())
        assert item.path == path


def test_a_linked_file_keeps_its_name(tmp_path):
    write(tmp_path, "store/1f3a.pdf")
    (tmp_path / "letter.pdf").symlink_to("store/1f3a.pdf")
    (item,) = walk([str(tmp_path / "letter.pdf")], IngestSettings())
    assert item.path == str(tmp_path.resolve() / "letter.pdf")


def test_several_paths_yield_each_file_once(tmp_path):
    write(tmp_path, "one/a.pdf", "two/b.pdf")
    assert found(tmp_path / "two/b.pdf", tmp_path / "one", tmp_path) == ["b.pdf", "a.pdf"]


def test_missing_path_is_refused_before_anything_is_read(tmp_path):
    write(tmp_path, "a.pdf")
    with pytest.raises(ConfigError, match=r"gone\.pdf: no such file or folder"):
        walk([str(tmp_path), str(tmp_path / "gone.pdf")], IngestSettings())


def test_hidden_names_are_no_inputs_unless_named(tmp_path):
    write(tmp_path, ".hidden.pdf", ".git/a.pdf", "a.pdf")
    assert found(tmp_path) == ["a.pdf"]
    assert found(tmp_path / ".hidden.pdf") == [".hidden.pdf"]
    assert found(tmp_path / ".git") == ["a.pdf"]


def test_include_and_exclude(tmp_path):
    write(tmp_path, "a.pdf", "b.PNG", "drafts/c.pdf", "x/drafts/d.pdf", "x/e.pdf")
    assert found(tmp_path, include=["*.pdf"]) == ["a.pdf", "drafts/c.pdf", "x/e.pdf", "x/drafts/d.pdf"]
    assert found(tmp_path, include=["*.png"]) == ["b.PNG"]
    assert found(tmp_path, exclude=["drafts"]) == ["a.pdf", "b.PNG", "x/e.pdf"]
    assert found(tmp_path, exclude=["drafts/**"]) == ["a.pdf", "b.PNG", "x/e.pdf", "x/drafts/d.pdf"]
    assert found(tmp_path, include=["x/**"], exclude=["e.*"]) == ["x/drafts/d.pdf"]


def test_link_loops_end(tmp_path):
    write(tmp_path, "a/a.pdf", "b/b.pdf")
    for name in ("1", "2", "3"):
        (tmp_path / "a" / f"up{name}").symlink_to(tmp_path)
        (tmp_path / "b" / f"across{name}").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert found(tmp_path) == ["skipped: self", "a/a.pdf", "b/b.pdf"]


def test_linked_folder_outside_is_followed_after_the_real_ones(tmp_path):
    write(tmp_path, "outside/o.pdf", "in/z/z.pdf")
    (tmp_path / "in" / "a").symlink_to(tmp_path / "outside")
    (tmp_path / "in" / "b").symlink_to(tmp_path / "in" / "z")
    assert found(tmp_path / "in") == ["z/z.pdf", "a/o.pdf"]


def test_dangling_link_is_broken_if_its_name_says_input(tmp_path):
    (tmp_path / "gone.pdf").symlink_to(tmp_path / "nowhere")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    assert found(tmp_path) == ["broken: gone.pdf", "skipped: gone.txt"]


def test_pipes_and_sockets_are_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.pdf")
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket.pdf")
    assert found(tmp_path) == ["skipped: pipe.pdf", "skipped: socket.pdf"]
    server.close()
    (document,) = walk(["/dev/null"], IngestSettings())
    assert isinstance(document, InputFile)
    assert document.reason == "not a regular file but a character device"


def test_own_databases_are_no_inputs(tmp_path):
    for name, application_id in [("own.pdf", 0x6F637262), ("foreign.sqlite", 7)]:
        with sqlite3.connect(tmp_path / name) as database:
            database.execute(f"PRAGMA application_id = {application_id}")
            database.execute("CREATE TABLE t (x)")
    write(tmp_path, "own.pdf-wal", "own.pdf.lock", "x.db-shm", "foreign.sqlite-wal", "given", "given.lock")
    assert found(tmp_path, databases=[str(tmp_path / "given")]) == ["foreign.sqlite", "foreign.sqlite-wal"]


def test_a_name_in_another_encoding_is_kept_as_it_is(tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9.pdf"
    Path(os.fsdecode(path)).write_bytes(b"%PDF-")
    (candidate,) = walk([str(tmp_path)], IngestSettings())
    assert isinstance(candidate, Candidate)
    assert os.fsencode(candidate.path) == path, "two such names must not become one"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_folder_is_a_row(tmp_path):
    write(tmp_path, "locked/a.pdf", "b.pdf")
    (tmp_path / "locked").chmod(0)
    assert found(tmp_path) == ["b.pdf", "broken: locked"]
    (tmp_path / "locked").chmod(0o700)


def videos(tmp_path, *folders, **settings):
    """The names of the frames of each video below a folder, by the video's path, and all else that is found."""
    values = {"video": True, "video_folders": folders, **settings}
    items = list(walk([str(tmp_path)], IngestSettings(**values)))
    clips = {item.relative: item.frames for item in items if isinstance(item, Candidate) and item.frames}
    others = [
        f"{item.status}: {Path(item.path).name}" if isinstance(item, InputFile) else item.relative
        for item in items
        if isinstance(item, InputFile) or not item.frames
    ]
    return clips, others


def test_the_images_of_a_named_folder_are_one_video_in_natural_order(tmp_path):
    write(
        tmp_path, "clips/a/f2.png", "clips/a/f10.png", "clips/a/f1.jpg", "clips/a/.f0.png", "clips/a/text.pdf"
    )
    write(tmp_path, "clips/a/more/g.png", "clips/b/1.tif", "page.png")
    clips, others = videos(tmp_path, "clips/*")
    assert clips == {"clips/a": ("f1.jpg", "f2.png", "f10.png"), "clips/b": ("1.tif",)}
    assert others == ["page.png", "clips/a/text.pdf", "clips/a/more/g.png"]


def test_the_given_folder_itself_is_a_dot(tmp_path):
    write(tmp_path, "1.png", "2.png", "in/3.png")
    assert videos(tmp_path, ".") == ({".": ("1.png", "2.png")}, ["in/3.png"])
    assert videos(tmp_path) == ({}, ["1.png", "2.png", "in/3.png"])


def test_globs_choose_among_the_frames(tmp_path):
    write(tmp_path, "a/1.png", "a/2.png", "a/2.thumb.png")
    assert videos(tmp_path, "a", exclude=("*.thumb.png",)) == ({"a": ("1.png", "2.png")}, [])
    assert videos(tmp_path, "a", include=("a/1.*",)) == ({"a": ("1.png",)}, [])


def test_a_named_folder_without_images_is_broken_and_none_within_are_lost(tmp_path):
    write(tmp_path, "a/notes.txt", "b/c/1.png")
    clips, others = videos(tmp_path, "a", "b", "b/c")
    assert clips == {"b/c": ("1.png",)}
    assert others == ["broken: a", "a/notes.txt"]
