"""Passwords of encrypted PDFs: where they come from, and where they never go."""

import logging
import os
from contextlib import closing
from pathlib import Path

import pymupdf
import pytest

from pipeline.config import sources
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import Config, IngestConfig, ingest_settings, render_settings
from pipeline.errors import ConfigError, ExitCode
from storage.database import open_for_reading
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed, rows, run_quietly

SECRET = "correct horse battery"


def lock(path: Path, password: str = SECRET) -> Path:
    with pymupdf.open() as document:
        document.new_page(width=300, height=300).insert_text((40, 60), "one", fontsize=18)
        document.save(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw=password, owner_pw="owner's")
    return path


def secrets(tmp_path: Path, text: str) -> str:
    path = tmp_path / "passwords"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return str(path)


def test_the_variable_comes_first_then_the_lines_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCR_PDF", "from variable")
    path = secrets(tmp_path, "one\r\n\n two \nfrom variable\nзамок\n")
    found = read_passwords(IngestConfig(password_env="OCR_PDF", password_file=path))
    assert found == ("from variable", "one", " two ", "замок")
    assert read_passwords(IngestConfig()) == ()


def test_a_wrong_source_is_refused_without_repeating_it(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for ingest in (
        IngestConfig(password_env=SECRET),
        IngestConfig(password_file=SECRET),
        IngestConfig(password_file=str(tmp_path / "empty")),
    ):
        with pytest.raises(ConfigError, match=r"ingest\.password_") as caught:
            read_passwords(ingest)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", [f"ingest.password={SECRET}", f"ingest.password_env=[{SECRET}]"])
def test_what_was_set_by_mistake_is_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError, match=r"ingest\.password") as caught:
        sources.load(None, [text])
    assert SECRET not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_a_file_that_everybody_may_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = secrets(tmp_path, SECRET)
    with caplog.at_level(logging.WARNING, logger="ocrbatch"):
        read_passwords(IngestConfig(password_file=path))
        assert not caplog.records
        Path(path).chmod(0o644)
        assert read_passwords(IngestConfig(password_file=path)) == (SECRET,)
    assert "chmod o-r" in caplog.text
    assert SECRET not in caplog.text


def test_settings_never_show_them() -> None:
    settings = (ingest_settings(Config(), (SECRET,)), render_settings(Config(), (SECRET,)))
    assert SECRET not in repr(settings)
    assert all(one.passwords == (SECRET,) for one in settings)


@pytest.mark.slow
def test_an_encrypted_file_is_read_with_its_password_which_is_stored_nowhere(
    batch: Batch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="ocrbatch")
    lock(batch.docs / "a.pdf")
    assert batch.run().documents == {"encrypted": 1}
    with closing(open_for_reading(batch.database)) as db:
        (reason,) = db.conn.execute("SELECT reason FROM files").fetchone()
    assert "ingest.password_file" in reason

    wrong = changed(batch.config, ingest={"password_file": secrets(tmp_path, "wrong\nworse")})
    summary = run_quietly(wrong)
    assert (summary.documents, summary.exit_code) == ({"encrypted": 1}, ExitCode.INCOMPLETE)
    with closing(open_for_reading(batch.database)) as db:
        (reason,) = db.conn.execute("SELECT reason FROM files").fetchone()
    assert "none of 2 passwords" in reason

    right = changed(batch.config, ingest={"password_file": secrets(tmp_path, f"wrong\n{SECRET}")})
    assert run_quietly(right).pages == {"ok": 1}
    assert [row["text"] for row in rows(batch.database)] == [TEXT]
    for path in Path(batch.database).parent.glob("results.db*"):
        assert SECRET.encode() not in path.read_bytes()
    assert SECRET not in caplog.text
