"""The database holds what the stages report of a page."""

from pathlib import Path

import pytest

from ocr.types import ParsedText
from pipeline.stages.store import store_page
from pipeline.types import Page, PageResult
from storage.records.store import Store
from storage.types import StageTiming
from tests.storage.sample_records import SETTINGS, SHA_A, new_run, rows

NOTHING = ParsedText(blocks=(), text="", markdown="")


@pytest.mark.parametrize(
    ("of_global", "of_local"), [("hit", "miss"), ("miss", "eager"), ("eager", "hit"), ("eager", None)]
)
def test_what_became_of_its_views_is_stored_by_path(
    of_global: str, of_local: str | None, tmp_path: Path
) -> None:
    """Each word beside each other one: none stands for another, nor one path for the other."""
    timings = (
        StageTiming(stage="render", share_s=0.5, wall_s=0.5),
        StageTiming(stage="encode_global", share_s=1.0, wall_s=4.0, batch_size=4, path_use=of_global),
        StageTiming(stage="encode_local", share_s=2.0, wall_s=3.0, batch_size=2, path_use=of_local),
    )
    page = Page(path="docs/a.pdf", sha256=SHA_A, kind="pdf", page_index=0)
    result = PageResult(page=page, status="blank", parsed=NOTHING, error=None, timings=timings)
    path = tmp_path / "a.db"
    with Store(path) as store:
        store_page(store, new_run(store), SETTINGS, result)
    stored = rows(
        path, "SELECT stage, path_use, share_s, wall_s, batch_size FROM timings WHERE stage <> 'store'"
    )
    assert stored == [
        ("render", None, 0.5, 0.5, 1),
        ("encode_global", of_global, 1.0, 4.0, 4),
        ("encode_local", of_local, 2.0, 3.0, 2),
    ]
