from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.ingest.objects.stores import s3_pages


class S3:
    """A store that lists two keys at a time, and counts how often it was asked."""

    def __init__(self, *keys: str) -> None:
        self.keys, self.num_asked = sorted(keys), 0

    def split_path(self, path: str) -> tuple[str, str, None]:
        bucket, _, key = path.partition("/")
        return bucket, key, None

    def call_s3(self, method: str, **asked: Any) -> dict[str, Any]:
        assert (method, asked["Bucket"], asked["Delimiter"]) == ("list_objects_v2", "box", "/")
        self.num_asked += 1
        prefix, start = asked["Prefix"], int(asked.get("ContinuationToken", 0))
        below = [key.removeprefix(prefix) for key in self.keys if key.startswith(prefix)]
        tops = list(dict.fromkeys(key.partition("/")[0] + "/" * ("/" in key) for key in below))
        part = [prefix + top for top in tops[start : start + 2]]
        objects = [{"Key": key} for key in part if not key.endswith("/") or key == prefix]
        folders = [{"Prefix": key} for key in part if key.endswith("/") and key != prefix]
        more = {"NextContinuationToken": str(start + 2)} if start + 2 < len(tops) else {}
        return more | {"Contents": objects, "CommonPrefixes": folders}


def test_a_folder_comes_in_parts_as_they_are_asked_for() -> None:
    fs = S3("in/", "in/a.pdf", "in/b.pdf", "in/c/d.pdf", "in/c/e.pdf", "in/f.pdf", "in//g.pdf", "into.pdf")
    parts: Iterator[list[tuple[str, bool]]] = s3_pages(fs, "box/in")
    assert next(parts) == [("", True)]
    assert fs.num_asked == 1
    assert list(parts) == [[("a.pdf", False), ("b.pdf", False)], [("c", True), ("f.pdf", False)]]


def test_a_bucket_may_be_empty_and_a_folder_may_not() -> None:
    assert list(s3_pages(S3(), "box")) == [[]]
    with pytest.raises(FileNotFoundError):
        list(s3_pages(S3("a.pdf"), "box/in"))
