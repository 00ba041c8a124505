"""Tells URLs of stored objects from paths, and takes them apart. A URL is kept as it was named, never resolved."""

import re

# Two letters at least, so that it is no drive of Windows.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# What a signed link carries: whoever has the link may read the object.
_SIGNATURES = re.compile(
    r"[?&](x-amz-signature|x-goog-signature|sig|signature|awsaccesskeyid)=", re.IGNORECASE
)


def is_url(path: str) -> bool:
    """Returns whether this names an object in a store (s3://bucket/key) rather than a file."""
    return _URL.match(path) is not None


def protocol_of(url: str) -> str:
    """Returns the URL's protocol, in small letters: s3."""
    return url.partition("://")[0].lower()


def is_web(url: str) -> bool:
    """Returns whether the URL is of a web server, which lists nothing and gives "?" and "#" a meaning."""
    return protocol_of(url) in ("http", "https")


def without_secrets(url: str) -> str:
    """Returns the URL without user, password and a web address's query, for messages."""
    protocol, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    path = re.split(r"[?#]", path, maxsplit=1)[0] if is_web(url) else path
    return f"{protocol}://{host.rpartition('@')[2]}{slash}{path}"


def objection(url: str) -> str | None:
    """Returns why a URL may not be named: it has credentials, which would be stored with its pages. None where it may.

    "container@account" of Azure is no user.
    """
    host = url.partition("://")[2].partition("/")[0]
    user, at, _ = host.rpartition("@")
    if ":" in user or (at and is_web(url)) or (is_web(url) and _SIGNATURES.search(url)):
        return (
            f"{without_secrets(url)}: credentials do not belong in a URL, which is stored with what is read; "
            "set them in the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if protocol_of(url) in ("file", "local"):
        return f"{without_secrets(url)}: name the file's path itself, without {protocol_of(url)}://"
    return None


def parent_of(url: str) -> str | None:
    """Returns the URL of the folder that an object or folder is in; None for a bucket."""
    protocol, _, rest = url.partition("://")
    folder, slash, _ = rest.rstrip("/").rpartition("/")
    return f"{protocol}://{folder}" if slash and folder.strip("/") else None


def name_of(url: str) -> str:
    """Returns an object's name within its folder; a web page's without its query."""
    rest = url.partition("://")[2]
    if is_web(url):
        rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    return rest.rstrip("/").rpartition("/")[2]
