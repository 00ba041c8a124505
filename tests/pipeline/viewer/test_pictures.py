"""Drawn pages are kept, up to a size; those that were not looked at for longest go first."""

import asyncio
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from pipeline.documents.page_picture import PagePicture
from pipeline.viewer import pictures
from pipeline.viewer.pictures import Pictures


class Pool:
    """Draws pages of 40 bytes. drawn: which, in order."""

    def __init__(self) -> None:
        self.drawn: list[int] = []

    def picture(self, page: Any, **_: Any) -> "Future[PagePicture]":
        self.drawn.append(page.page_index)
        done: Future[PagePicture] = Future()
        done.set_result(PagePicture(jpeg=bytes(40), stamp=None))
        return done


async def waits() -> bool:
    return False


def test_no_more_is_kept_than_fits() -> None:
    async def look(*indices: int) -> list[int]:
        kept._pool.drawn.clear()
        for index in indices:
            page: Any = SimpleNamespace(
                sha256="a" * 64, kind="pdf", page_index=index, rotation_deg=0, paths=(__file__,)
            )
            assert await kept.get(page, 600, waits) == bytes(40)
        return list(kept._pool.drawn)

    pool: Any = Pool()
    kept: Any = Pictures(pool, cache_bytes=100)
    assert asyncio.run(look(0, 1, 0, 1)) == [0, 1]
    assert asyncio.run(look(2, 1)) == [2]
    assert asyncio.run(look(0, 2, 1)) == [0, 2, 1], "two of 40 bytes fit into 100, the last two"
    assert sum(map(len, kept._kept.values())) == kept._num_bytes == 80
    assert pictures._CACHE_BYTES == 128 << 20, "as README.md says"
