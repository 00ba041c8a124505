"""Drawn pages are kept, up to a size; those that were not looked at for longest go first."""

import asyncio
import os
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from pipeline.documents.page_picture import PagePicture
from pipeline.viewer import pictures
from pipeline.viewer.pictures import Pictures
from storage.strings.text import stored_path


class Pool:
    """Draws pages of 40 bytes. drawn: which, in order."""

    def __init__(self) -> None:
        self.drawn: list[int] = []

    def picture(self, page: Any, **_: Any) -> "Future[PagePicture]":
        self.drawn.append(page.page_index)
        done: Future[PagePicture] = Future()
        done.set_result(PagePicture(jpeg=bytes(40), stamp=None))
        return done


def page(path: str, index: int = 0) -> dict[str, Any]:
    return {"sha256": "a" * 64, "kind": "pdf", "page_index": index, "rotation_deg": 0, "paths": (path,)}


async def waits() -> bool:
    return False


def test_no_more_is_kept_than_fits() -> None:
    async def look(*indices: int) -> list[int]:
        kept._pool.drawn.clear()
        for index in indices:
            assert await kept.get(page(__file__, index), 600, waits) == bytes(40)
        return list(kept._pool.drawn)

    pool: Any = Pool()
    kept: Any = Pictures(pool, cache_bytes=100)
    assert asyncio.run(look(0, 1, 0, 1)) == [0, 1]
    assert asyncio.run(look(2, 1)) == [2]
    assert asyncio.run(look(0, 2, 1)) == [0, 2, 1], "two of 40 bytes fit into 100, the last two"
    assert sum(map(len, kept._kept.values())) == kept._num_bytes == 80
    assert pictures._CACHE_BYTES == 128 << 20, "as README.md says"


def test_a_file_whose_name_is_no_utf8_is_drawn(tmp_path: Path) -> None:
    file = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.pdf")
    Path(file).touch()
    pool: Any = Pool()
    assert asyncio.run(Pictures(pool).get(page(stored_path(file)), 600, waits)) == bytes(40)
