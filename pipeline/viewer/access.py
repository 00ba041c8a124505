"""Lets only the person in who started the reader: host, token, origin; and sets the headers that keep a page harmless.

The reader listens on the loopback interface, which every user and every web page on the machine can reach. So a
request needs the token that is in the address it was started with, and must be addressed to the loopback interface by
its own name, which stops pages whose name was made to lead here (DNS rebinding).
"""

import hashlib
import hmac
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        self.hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        # Cookies are of a host, whatever the port: two readers must not take each other's.
        self.cookie = f"ocrbatch_view_{port}"

    @property
    def form_token(self) -> str:
        """What a form that changes something must send: no page of another origin can know it."""
        return hmac.new(self.token.encode(), b"form", hashlib.sha256).hexdigest()

    def knows(self, token: str | None) -> bool:
        """Returns whether this is the session's token."""
        return hmac.compare_digest((token or "").encode(), self.token.encode())

    def refusal(self, request: Request) -> Response | None:
        """Returns the answer to a request that is not let in; None for one that is."""
        if request.headers.get("host", "").lower() not in self.hosts:
            return PlainTextResponse("This reader answers on 127.0.0.1 only.", 421)
        if token := parse_qs(request.url.query).get("token"):
            return self._welcome(request) if self.knows(token[0]) else _refused()
        if not self.knows(request.cookies.get(self.cookie)):
            return _refused()
        if request.method not in ("GET", "HEAD"):
            origin = request.headers.get("origin")
            if origin is not None and origin.removeprefix("http://") not in self.hosts:
                return PlainTextResponse("This request comes from another page.", 403)
        return None

    def _welcome(self, request: Request) -> Response:
        """Returns a redirect that takes the token out of the address and into a cookie."""
        response = RedirectResponse(request.url.path, 303)
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return response


class Guard:
    """Middleware: lets requests in as Access says, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # websockets are not spoken here
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._access.refusal(Request(scope))
        await (refusal or self._app)(scope, receive, send_with_headers)


def _refused() -> Response:
    return PlainTextResponse(
        "Open the address that `ocrbatch view` printed: it holds the token that opens this reader.", 403
    )
