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
    assert not any("other settings" in line for line in (*shown(), *shown("--files", "--all")))
    with Store(database) as store:
        run_id = store.start_run(a_run(settings_hash=NEW))
        store.record_file(run_id, a_file("a.pdf", num_pages=2))
        store.record_page(run_id, a_page(None, settings_hash=NEW), attempt_limit=1)
        store.record_page(run_id, a_page("new", 1, settings_hash=NEW), attempt_limit=1)
        store.finish_run(run_id, exit_code=3, counts={})
    assert shown()[1:4] == [
        "pages: 2 ok",
        "documents: 1 ok",
        "pages kept as read with other settings than the last run's: 1; `ocrbatch status --files --all` says where",
    ]
    assert shown("--files", "--all") == [
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
        "files that need no look: 0; `ocrbatch status --files --all` lists every file and page",
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


def test_files_that_need_a_look_come_first_and_only_some_of_them_unless_all_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "results.db")
    names = [f"{number:02}" for number in range(25)]
    with Store(database) as store:
        run_id = new_run(
            store,
            a_file("a fine one", "f" * 64, num_pages=1),
            a_file("of 30 pages", "e" * 64, num_pages=30),
            *(a_file(name, number * 32, num_pages=2) for name, number in zip(names, names, strict=True)),
            a_file("unsure", "d" * 64, num_pages=1),
        )
        store.record_page(run_id, a_page("fine", sha256="f" * 64))
        for index in range(30):
            doubt = "faint" if index < 24 else None
            status = "doubtful" if doubt else "ok"
            store.record_page(run_id, a_page("x", index, sha256="e" * 64, status=status, doubt=doubt))
        for number in names:
            for index in range(2):
                store.record_page(run_id, a_page(None, index, sha256=number * 32))
        store.finish_run(run_id, exit_code=3, counts={})

    def shown(*options: str) -> list[str]:
        assert main(["status", "--files", "--db", database, *options]) == ExitCode.OK
        return capsys.readouterr().out.splitlines()

    failed = [
        [
            f"failed         2 pages  {name} (2 failed): none of its pages could be read",
            "  page 1: failed: took over 60 s",
            "  page 2: failed: took over 60 s",
        ]
        for name in names
    ]
    assert shown() == [
        *(line for lines in failed[:20] for line in lines),
        "and 6 more that need a look",
        "files that need no look: 2; `ocrbatch status --files --all` lists every file and page",
    ]
    everything = shown("--all")
    assert everything[:75] == [line for lines in failed for line in lines]
    assert everything[75] == "ok            30 pages  of 30 pages (6 ok, 24 doubtful)"
    assert everything[76:100] == [f"  page {number}: doubtful: faint" for number in range(1, 25)]
    assert everything[100:] == [
        "ok             1 pages  a fine one (1 ok)",
        "ok             1 pages  unsure (1 not asked for)",
    ]
    with Store(database) as store:
        run_id = store.start_run(a_run())
        for number in names:
            for index in range(2):
                store.record_page(run_id, a_page("read now", index, sha256=number * 32))
    bounded = shown()
    assert (bounded[0], bounded[21]) == (everything[75], "  and 4 more")
    assert bounded[1:21] == everything[76:96]
    assert main(["status", "--all", "--db", database]) == ExitCode.USAGE
