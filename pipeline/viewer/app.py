"""The reader's web application: its routes, and what each shows."""

import contextlib
import hmac
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlencode

from jinja2 import Environment, FileSystemLoader, select_autoescape
from sqlite_utils import Database
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pipeline.viewer import correcting
from pipeline.viewer.access import Access, Guard, body_of
from pipeline.viewer.pictures import Pictures, drawing_pool
from pipeline.viewer.shown_text import level, marked, pieces
from storage.database import Row, open_for_reading
from storage.errors import StorageError
from storage.export.rows import moved
from storage.queries import browsing
from storage.strings.printable import shown
from storage.types import PAGE_STATUSES, WordRow
from storage.words import unpack

_HERE = Path(__file__).parent
_STEP, _PAGES_STEP, _HITS_STEP = 50, 50, 20
_NAME_COOKIE = "ocrbatch_view_name"
_FILTERS = {name: (name,) for name in (*PAGE_STATUSES, "corrected")} | {"look": browsing.LOOK_STATUSES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the reader shows and allows. database: path. passwords: tried on encrypted PDFs."""

    database: str
    read_only: bool = False
    passwords: tuple[str, ...] = ()


def make_app(settings: Settings, access: Access) -> Starlette:
    """Returns the application. While it runs, worker processes draw its pages."""
    reader = ViewerApp(settings, access)
    routes = [
        Route("/", reader.documents),
        Route("/document/{file_id}", reader.document),
        Route("/pages", reader.pages),
        Route("/search", reader.search),
        Route("/look", reader.look),
        Route("/page/{page_id}", reader.page),
        Route("/page/{page_id}/image", reader.image),
        Route("/page/{page_id}/correct", reader.correct, methods=["POST"]),
        Route("/page/{page_id}/withdraw", reader.withdraw, methods=["POST"]),
        Mount("/static", StaticFiles(directory=_HERE / "static")),
    ]
    return Starlette(
        routes=routes,
        lifespan=reader.lifespan,
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={HTTPException: reader.refused, StorageError: reader.failed},
    )


class ViewerApp:
    """The routes. Lists and pages are made in threads, each request with a connection of its own."""

    def __init__(self, settings: Settings, access: Access) -> None:
        self._settings, self._access = settings, access
        self._pictures: Pictures | None = None
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=select_autoescape(default=True),
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {"marked": marked, "level": level, "shown": shown}

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Keeps the processes that draw while the application runs."""
        with drawing_pool(self._settings.passwords) as pool:
            self._pictures = Pictures(pool)
            yield

    def documents(self, request: Request) -> Response:
        """The list of documents."""
        after, before = request.query_params.get("after"), request.query_params.get("before")
        with self._open() as db:
            found = browsing.documents(db, after=after, before=before, limit=_STEP + 1)
            counts, number = browsing.page_counts(db), browsing.num_documents(db)
        found, last, first = _step(found, is_first=after is None, is_back=before is not None)
        return self._html(
            "documents.html", documents=found, counts=counts, num_documents=number,
            next_url=f"/?after={quote(last['path'])}" if last else None,
            previous_url=f"/?before={quote(first['path'])}" if first else None,
        )  # fmt: skip

    def document(self, request: Request) -> Response:
        """The list of a document's pages."""
        first = _number(request, "from")
        with self._open() as db:
            found = browsing.document(db, _whole(request.path_params["file_id"]))
            if found is None:
                raise HTTPException(404, "There is no such document.")
            entries = browsing.document_pages(db, found["document_id"], first=first, limit=_PAGES_STEP + 1)
        base = f"/document/{found['file_id']}"
        following = entries[_PAGES_STEP]["page"] - 1 if len(entries) > _PAGES_STEP else None
        return self._html(
            "document.html", document=found, entries=entries[:_PAGES_STEP],
            next_url=None if following is None else f"{base}?from={following}",
            previous_url=f"{base}?from={max(0, first - _PAGES_STEP)}" if first else None,
        )  # fmt: skip

    def pages(self, request: Request) -> Response:
        """The list of pages with a status."""
        status = request.query_params.get("status", "look")
        if status not in _FILTERS:
            raise HTTPException(404, "There is no such status.")
        before = _number(request, "before") or None
        after = _number(request, "after")
        with self._open() as db:
            entries = browsing.pages(db, _FILTERS[status], after=after, before=before, limit=_STEP + 1)
            counts = browsing.page_counts(db)
        entries, last, first = _step(entries, is_first=not after, is_back=before is not None)
        base = f"/pages?status={status}"
        return self._html(
            "pages.html", status=status, entries=entries, counts=counts,
            next_url=f"{base}&after={last['page_id']}" if last else None,
            previous_url=f"{base}&before={first['page_id']}" if first else None,
        )  # fmt: skip

    def search(self, request: Request) -> Response:
        """The pages that match a query."""
        query, status = request.query_params.get("q", ""), request.query_params.get("status") or None
        with self._open() as db:
            found = browsing.search_pages(
                db, query, status=status, start=_number(request, "from"), limit=_HITS_STEP
            )
        kept = {"q": query, **({"status": status} if status else {})}
        following = None
        if found["next_start"] is not None:
            following = f"/search?{urlencode({**kept, 'from': found['next_start']})}"
        return self._html(
            "search.html", query=query, status=status, found=found, statuses=PAGE_STATUSES,
            next_url=following, previous_url=f"/search?{urlencode(kept)}" if _number(request, "from") else None,
        )  # fmt: skip

    def look(self, request: Request) -> Response:
        """Leads to the next page that somebody should look at."""
        with self._open() as db:
            found = browsing.next_to_look_at(db, _number(request, "after") or None)
        return RedirectResponse("/pages?status=look" if found is None else f"/page/{found}", 303)

    def page(self, request: Request) -> Response:
        """A page: its picture beside its text."""
        return self._page(request, self._found(request))

    def _page(self, request: Request, page: Row, *, code: int = 200, **changes: object) -> Response:
        wants_read = page["corrected_by"] is not None and request.query_params.get("text") == "read"
        text = page["read_text" if wants_read else "text"] or ""
        words = _words(page, text)
        values: dict[str, object] = {
            "page": page,
            "wants_read": wants_read,
            "text": text,
            "pieces": list(pieces(text, words)),
            "has_boxes": any(word["box"] for word in words),
            "markdown": page["read_markdown" if wants_read else "markdown"] or "",
            "draft": page["text"] or "",
            "name": unquote(request.cookies.get(_NAME_COOKIE, "")) or correcting.user_name(),
            "can_correct": not self._settings.read_only and page["read_text"] is not None,
            "query": request.query_params.get("q", ""),
            "form_token": self._access.form_token,
            "problem": None,
        }
        return self._html("page.html", code=code, **{**values, **changes})

    async def image(self, request: Request) -> Response:
        """A page's picture."""
        page = await run_in_threadpool(self._found, request)
        assert self._pictures is not None, "the application is running"
        found = await self._pictures.get(page, _number(request, "w") or 1200, request.is_disconnected)
        if isinstance(found, str):
            return PlainTextResponse(found, 404)
        return Response(found, media_type="image/jpeg")

    async def correct(self, request: Request) -> Response:
        """Saves a text in place of what was read."""
        form = await self._form(request)
        return await run_in_threadpool(self._correct, request, form)

    def _correct(self, request: Request, form: Mapping[str, str]) -> Response:
        page, text, name = self._found(request), form.get("text", ""), form.get("name", "")
        try:
            correcting.save(self._settings.database, page, text, name, _whole(form.get("attempt", "")))
        except StorageError as error:  # what was written must not be lost
            return self._page(request, page, code=409, problem=str(error), draft=text, name=name)
        response = RedirectResponse(f"/page/{page['page_id']}", 303)
        response.set_cookie(
            _NAME_COOKIE,
            quote(correcting.name_of(name)),
            max_age=365 * 86400,
            httponly=True,
            samesite="strict",
        )
        return response

    async def withdraw(self, request: Request) -> Response:
        """Makes what was read the page's text again."""
        await self._form(request)
        page = await run_in_threadpool(self._found, request)
        await run_in_threadpool(correcting.take_back, self._settings.database, page["page_id"])
        return RedirectResponse(f"/page/{page['page_id']}", 303)

    async def refused(self, request: Request, error: Exception) -> Response:
        """Says why a request has no answer."""
        assert isinstance(error, HTTPException)
        return self._html("message.html", code=error.status_code, message=error.detail)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Says what is wrong with the database."""
        return self._html("message.html", code=503, message=str(error))

    async def _form(self, request: Request) -> dict[str, str]:
        """Returns a form that may change something."""
        if self._settings.read_only:
            raise HTTPException(403, "This reader was started with --read-only.")
        if (body := await body_of(request, correcting.MOST_BYTES)) is None:
            raise HTTPException(413, "The text is too long.")
        try:
            form = correcting.form_of(body)
        except ValueError:
            raise HTTPException(400, "This is no form of this reader.") from None
        if not hmac.compare_digest(form.get("form_token", "").encode(), self._access.form_token.encode()):
            raise HTTPException(
                403, "This form is not of this reader, or of an earlier one: load the page again."
            )
        return form

    def _found(self, request: Request) -> Row:
        with self._open() as db:
            found = browsing.one_page(db, _whole(request.path_params["page_id"]))
        if found is None:
            raise HTTPException(404, "There is no such page.")
        return found

    def _open(self) -> contextlib.closing[Database]:
        return contextlib.closing(open_for_reading(self._settings.database))

    def _html(self, template: str, *, code: int = 200, **values: object) -> Response:
        names = {"database": Path(self._settings.database).name, "read_only": self._settings.read_only}
        html = self._templates.get_template(template).render({**names, "query": "", **values})
        return HTMLResponse(html, code)


def _step(found: list[Row], *, is_first: bool, is_back: bool) -> tuple[list[Row], Row | None, Row | None]:
    """Returns what is listed of one row more than a step has, and the rows after and before which others are."""
    rows = found[-_STEP:] if is_back else found[:_STEP]
    more = len(found) > _STEP
    has_next, has_previous = (True, more) if is_back else (more, not is_first)
    return rows, rows[-1] if has_next and rows else None, rows[0] if has_previous and rows else None


def _words(page: Row, text: str) -> list[WordRow]:
    """Returns the words of a text of the page with their boxes; none where they are not known."""
    if page["words"] is None or page["read_text"] is None:
        return []
    try:
        return moved(unpack(page["words"], page["read_text"]), text)
    except ValueError:  # damaged: the text is shown without
        return []


def _number(request: Request, name: str) -> int:
    """Returns a parameter of the address that is a whole number; 0 where it is none."""
    return _whole(request.query_params.get(name, ""))


def _whole(value: str) -> int:
    """Returns a whole number that SQLite can hold; 0, which no row has as its id, for anything else."""
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 19 else 0
