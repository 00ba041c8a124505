"""Matches the globs of `ingest.include` and `ingest.exclude`.

`*` and `?` stay within a name, `**` spans folders. A pattern without a slash is matched against the name alone, at any
depth; one with a slash against the whole relative path. Case is ignored: `*.pdf` matches SCAN.PDF.
"""

import os
import re
from collections.abc import Callable, Sequence

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|.", re.DOTALL)
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Returns a function that tells whether a relative path (with "/") matches any of the patterns."""
    whole = [_compile(pattern.strip("/")) for pattern in patterns if "/" in pattern.rstrip("/")]
    names = [_compile(pattern.strip("/")) for pattern in patterns if "/" not in pattern.rstrip("/")]

    def matches(relative: str) -> bool:
        name = relative.rpartition("/")[2]
        return any(p.fullmatch(name) for p in names) or any(p.fullmatch(relative) for p in whole)

    return matches


def stored_path_matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Returns a function that tells whether a stored path, which is absolute, matches any of the patterns.

    A pattern without a slash is matched with the names of files and of folders above them, one with a slash with the
    end of the path, from any folder on; one with a leading slash from the root.
    """
    named = [(pattern.startswith("/"), _normal(pattern)) for pattern in patterns]
    # Everything below a matching folder matches too.
    globs = [(glob if rooted else f"**/{glob}") + below for rooted, glob in named for below in ("", "/**")]
    matches = matcher([f"/{glob}" for glob in globs])
    return lambda path: matches(_normal(path))


def _normal(path: str) -> str:
    return os.path.normpath(path).strip("/")


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(map(_translate, _TOKEN.findall(pattern))), re.IGNORECASE | re.DOTALL)


def _translate(token: str) -> str:
    if token in _WILD:
        return _WILD[token]
    if len(token) == 1:
        return re.escape(token)
    # A set: only its leading "!" is special; a backslash or caret stands for itself.
    negated = token[1] == "!"
    body = token[2 if negated else 1 : -1].replace("\\", r"\\").replace("^", r"\^").replace("[", r"\[")
    return f"[{'^' if negated else ''}{body}]"
