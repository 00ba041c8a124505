"""Lets only the person in who started the reader: host, token, origin; and sets the headers that keep a page harmless.

The reader listens on the loopback interface, which every user and every web page on the machine can reach. So a
request needs the token that is in a file which only the user who started it may read, and must be addressed to the
loopback interface by its own name, which stops pages whose name was made to lead here (DNS rebinding). The token is in
no address: those are in process lists, histories and logs.
"""

import hashlib
import hmac
import secrets
from urllib.parse import parse_qs

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp

_ENTRY = "/enter"
_MOST_ENTRY_BYTES = 1000
# Submitted by its script, or by hand. The browser keeps no form's content in its history.
_DOOR = """<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>ocrbatch view</title>
<form method="post" action="http://127.0.0.1:{port}{entry}">
<input type="hidden" name="token" value="{token}"><button>Open the reader</button></form>
<script>document.forms[0].submit()</script>
"""
# The cookie is sent with requests that come from a page of the reader's own, and not with a redirect from the file's.
_WELCOME = '<!doctype html><meta http-equiv="refresh" content="0; url=/"><a href="/">The reader</a>'
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self' blob:; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer, with which browsers send forms without saying where from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Access:
    """The token of one session of the reader, and what follows from it. port: where it listens."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self._port = port
        self.hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        # Cookies are of a host, whatever the port: two readers must not take each other's.
        self.cookie = f"ocrbatch_view_{port}"

    @property
    def form_token(self) -> str:
        """What a form that changes something must send: no page of another origin can know it."""
        return hmac.new(self.token.encode(), b"form", hashlib.sha256).hexdigest()

    @property
    def door(self) -> str:
        """The content of the file that opens the reader in a browser: for the eyes of its user alone."""
        return _DOOR.format(port=self._port, entry=_ENTRY, token=self.token)

    def knows(self, token: str | None) -> bool:
        """Returns whether this is the session's token."""
        return hmac.compare_digest((token or "").encode(), self.token.encode())

    async def refusal(self, request: Request) -> Response | None:
        """Returns the answer to a request that is not let in, or that asks to be; None for one that is."""
        if request.headers.get("host", "").lower() not in self.hosts:
            return PlainTextResponse("This reader answers on 127.0.0.1 only.", 421)
        if request.method == "POST" and request.url.path == _ENTRY:
            return await self._entry(request)
        if not self.knows(request.cookies.get(self.cookie)):
            return _refused()
        if request.method not in ("GET", "HEAD"):
            origin = request.headers.get("origin")
            if origin is not None and origin.removeprefix("http://") not in self.hosts:
                return PlainTextResponse("This request comes from another page.", 403)
        return None

    async def _entry(self, request: Request) -> Response:
        """Returns a page that leads on, with the token as a cookie, if the form has it."""
        body = await body_of(request, _MOST_ENTRY_BYTES) or b""
        if not self.knows(parse_qs(body.decode("ascii", "replace")).get("token", [""])[0]):
            return _refused()
        response = HTMLResponse(_WELCOME)
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return response


class Guard(BaseHTTPMiddleware):
    """Lets requests in as Access says, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        super().__init__(app)
        self._access = access

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Answers one request."""
        response = await self._access.refusal(request) or await call_next(request)
        response.headers.update(_HEADERS)
        return response


async def body_of(request: Request, most_bytes: int) -> bytes | None:
    """Returns a request's body; None for one that is longer, of which no more is read."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            return None
    return body


def _refused() -> Response:
    return PlainTextResponse(
        "Open the file that `ocrbatch view` named: it holds the token that opens this reader.", 403
    )
