"""Draws the pages that a report shows once more, in worker processes: their files are not trusted."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from pipeline.config.passwords import passwords_there
from pipeline.config.schema import Config
from pipeline.documents.page_picture import UNSEEN, Look, PagePicture
from pipeline.documents.settings import RenderSettings
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.types import Kind, Page
from storage.queries.run_pages import PageOutcome, PagePlace
from storage.strings.text import real_path
from storage.types import PageError

SIDE_PX = 360
_LOOK = Look(width_px=SIDE_PX, height_px=SIDE_PX, quality=60)
_KINDS: dict[str, Kind] = {"pdf": "pdf", "image": "image"}
_WORKERS = 2
_GONE = "the file is not there any more"
_CHANGED = "the file holds something else now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thumbnail:
    """A page as a small JPEG file, None where there is none; reason: why."""

    jpeg: bytes | None = None
    reason: str = ""


def thumbnails(
    pages: Sequence[PageOutcome], places: Mapping[int, PagePlace], config: Config
) -> dict[int, Thumbnail]:
    """Returns page id -> its thumbnail, of all the pages. config: the run's, for its limits and passwords.

    Raises: WorkersError.
    """
    pool = WorkerPool(
        max_workers=_WORKERS,
        render=RenderSettings(
            max_image_pixels=config.ingest.max_image_pixels, passwords=passwords_there(config.ingest)
        ),
        page_timeout_s=config.render.page_timeout_s,
        memory_bytes=config.render.worker_memory_mb << 20,
    )
    found = {page.page_id: _undrawn(places[page.page_id]) for page in pages}
    with pool as workers:
        # Ordered by file, so that a worker hashes and parses each but once.
        wanted = sorted(
            (page for page in pages if found[page.page_id] is None),
            key=lambda page: (places[page.page_id].path, places[page.page_id].page_index),
        )
        asked = [(page.page_id, _asked(workers, page, places[page.page_id])) for page in wanted]
        drawn = {page_id: _drawn(future.result()) for page_id, future in asked}
    return {page_id: thumbnail or drawn[page_id] for page_id, thumbnail in found.items()}


def _undrawn(place: PagePlace) -> Thumbnail | None:
    """Returns the thumbnail of a page that is not even looked at; None for one that is to be drawn."""
    if place.state == "missing":
        return Thumbnail(reason=_GONE)
    if place.state == "superseded":
        return Thumbnail(reason=_CHANGED)
    return None if place.kind in _KINDS else Thumbnail(reason="videos have no thumbnail")


def _asked(workers: WorkerPool, page: PageOutcome, place: PagePlace) -> Future[PagePicture | PageError]:
    its = Page(
        path=real_path(place.path),
        sha256=place.sha256,
        kind=_KINDS[place.kind],
        page_index=place.page_index,
        stamp=UNSEEN,
    )
    return workers.picture(its, rotation_deg=page.rotation_deg, look=_LOOK)


def _drawn(result: PagePicture | PageError) -> Thumbnail:
    if isinstance(result, PagePicture):
        return Thumbnail(jpeg=result.jpeg)
    return Thumbnail(reason=_CHANGED if result.category == "changed" else result.message)
