"""`status` tells which pages have a text of other settings than the last run's."""

from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from storage.records.store import Store
from tests.storage.sample_records import SETTINGS, SHA_A, a_file, a_page, a_run, new_run

NEW = "settings-2"


def test_status_says_that_a_text_is_of_other_settings_and_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "results.db")

    def shown(*options: str) -> list[str]:
        assert main(["status", "--db", database, *options]) == ExitCode.OK
        return capsys.readouterr().out.splitlines()

    with Store(database) as store:
        run_id = new_run(store, a_file("a.pdf", num_pages=2))
        store.plan_pages(SHA_A, range(2), SETTINGS, attempt_limit=1)
        for index in range(2):
            store.record_page(run_id, a_page("old", index))
        store.finish_run(run_id, exit_code=0, counts={})
    assert not any("other settings" in line for line in (*shown(), *shown("--files")))
    with Store(database) as store:
        run_id = store.start_run(a_run(settings_hash=NEW))
        store.record_file(run_id, a_file("a.pdf", num_pages=2))
        store.record_page(run_id, a_page(None, settings_hash=NEW), attempt_limit=1)
        store.record_page(run_id, a_page("new", 1, settings_hash=NEW), attempt_limit=1)
        store.finish_run(run_id, exit_code=3, counts={})
    assert shown()[1:4] == [
        "pages: 2 ok",
        "documents: 1 ok",
        "pages kept as read with other settings than the last run's: 1; `ocrbatch status --files` says where",
    ]
    assert shown("--files") == [
        "ok             2 pages  a.pdf (2 ok; 1 read with other settings than the last run's)"
    ]
    assert '  "older_pages": 1' in "\n".join(shown("--json"))
    assert main(["verify", "--db", database, "--no-files"]) == ExitCode.OK


def test_doubtful_pages_are_shown_with_their_reasons_and_found_when_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "results.db")
    with Store(database) as store:
        run_id = new_run(store, a_file("a.pdf", num_pages=2))
        store.plan_pages(SHA_A, range(2), SETTINGS, attempt_limit=1)
        doubt = "confidence 0.11 below 0.35"
        store.record_page(run_id, a_page("tea for two", 1, status="doubtful", doubt=doubt))
        store.record_page(run_id, a_page("tea", 0))
        store.finish_run(run_id, exit_code=3, counts={})

    def shown(*arguments: str) -> list[str]:
        assert main([*arguments, "--db", database]) == ExitCode.OK
        found = capsys.readouterr()
        return [*found.out.splitlines(), *found.err.splitlines()]

    assert shown("status")[1:4] == [
        "pages: 1 ok, 1 doubtful",
        "documents: 1 ok",
        "pages whose text is doubtful: 1; `ocrbatch status --files` says why",
    ]
    assert shown("status", "--files") == [
        "ok             2 pages  a.pdf (1 ok, 1 doubtful)",
        "  page 2: doubtful: confidence 0.11 below 0.35",
    ]
    assert shown("search", "tea") == [
        "a.pdf, page 1: [tea]",
        "pages left out because their text is in doubt: 1; --doubtful shows them",
    ]
    assert shown("search", "two") == [
        "no page holds two",
        "pages left out because their text is in doubt: 1; --doubtful shows them",
    ]
    assert shown("search", "two", "--doubtful") == [
        "a.pdf, page 2 (doubtful: confidence 0.11 below 0.35): tea for [two]"
    ]
    assert main(["verify", "--db", database, "--no-files"]) == ExitCode.OK
