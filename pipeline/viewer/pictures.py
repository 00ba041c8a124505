"""Pictures of pages, drawn in worker processes from the files that were read, and kept in memory up to a limit."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import get_args

from pipeline.documents.page_picture import UNSEEN, Look, PagePicture
from pipeline.documents.settings import RenderSettings
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.types import FileStamp, Kind, Page
from storage.database import Row
from storage.strings.text import real_path
from storage.strings.urls import is_url

# The widths that pages are drawn in: few, so that what is kept fits screens of any size.
WIDTHS_PX = (240, 800, 1200, 1800, 2600)
_CACHE_BYTES = 128 << 20
_WORKERS = 2
_CHANGED = (
    "The file has changed since it was read, so its page is not shown beside the text of the one before."
)
_GONE = "The file is not there any more. Its text is still here."

Gone = Callable[[], Awaitable[bool]]
_Key = tuple[str, int, int, int]


class Pictures:
    """Draws pages. The caller starts the pool's processes and ends them."""

    def __init__(self, pool: WorkerPool, cache_bytes: int = _CACHE_BYTES) -> None:
        self._pool, self._cache_bytes = pool, cache_bytes
        self._kept: OrderedDict[_Key, bytes] = OrderedDict()
        self._num_bytes = 0
        self._stamps: dict[tuple[str, str], FileStamp] = {}
        self._drawing: dict[_Key, asyncio.Lock] = {}
        self._turn = asyncio.Semaphore(_WORKERS)

    async def get(self, page: Row, width_px: int, is_gone: Gone) -> bytes | str:
        """Returns a page as a JPEG, or a sentence that says why there is none.

        width_px: rounded up to one of WIDTHS_PX. is_gone: whether nobody waits for it any more: a reader who turns
        pages quickly must not wait for all that were passed.
        """
        width_px = next((width for width in WIDTHS_PX if width >= width_px), WIDTHS_PX[-1])
        if page["sha256"] is None or page["kind"] not in get_args(Kind):
            return _GONE
        key = (page["sha256"], page["page_index"], page["rotation_deg"], width_px)
        lock = self._drawing.setdefault(key, asyncio.Lock())
        try:
            async with lock, self._turn:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
                if await is_gone():
                    return "Nobody waits for it."
                return await self._draw(page, key)
        finally:
            if not lock.locked():
                self._drawing.pop(key, None)

    async def _draw(self, page: Row, key: _Key) -> bytes | str:
        reason, (sha256, page_index, rotation_deg, width_px) = _GONE, key
        for path in map(real_path, page["paths"]):
            if not is_url(path) and not os.path.exists(path):
                continue
            stamp = self._stamps.get((path, sha256), UNSEEN)
            asked = Page(path=path, sha256=sha256, kind=page["kind"], page_index=page_index, stamp=stamp)
            future = self._pool.picture(asked, rotation_deg=rotation_deg, look=Look(width_px=width_px))
            found = await asyncio.wrap_future(future)
            if isinstance(found, PagePicture):
                self._keep(key, found.jpeg)
                if found.stamp is not None:
                    self._stamps[path, sha256] = found.stamp
                return found.jpeg
            reason = (
                _CHANGED if found.category == "changed" else f"The page cannot be drawn: {found.message}."
            )
        return reason

    def _keep(self, key: _Key, jpeg: bytes) -> None:
        self._kept[key] = jpeg
        self._num_bytes += len(jpeg)
        while self._num_bytes > self._cache_bytes:
            self._num_bytes -= len(self._kept.popitem(last=False)[1])


def drawing_pool(passwords: tuple[str, ...] = ()) -> WorkerPool:
    """Returns the processes that draw; a context manager that starts and ends them. passwords: of encrypted PDFs."""
    return WorkerPool(max_workers=_WORKERS, render=RenderSettings(passwords=passwords))
