import sqlite3
from typing import Any

import pytest

from pipeline.ingest.seen_names import SeenNames
from storage.errors import DatabaseAccessError


def test_a_temporary_folder_that_is_full_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def execute(self, *_: Any) -> Any:
            raise sqlite3.OperationalError("database or disk is full")

    names = SeenNames()
    monkeypatch.setattr(names, "_names", Full())
    with pytest.raises(DatabaseAccessError, match=r"disk is full.*TMPDIR"):
        names.add("a")
