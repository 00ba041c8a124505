"""Lists a folder of S3 part by part, as the store sends it: s3fs alone would hold every object's description."""

from collections.abc import Iterator
from typing import Any


def s3_pages(fs: Any, path: str) -> Iterator[list[tuple[str, bool]]]:
    """Yields parts of about a thousand names and whether each is a folder; "" is a folder without a name.

    fs: of s3fs. S3 sends keys by name, so all parts together are in order, but that folders are among the objects. A
    marker, an object named as its folder, is left out. Raises: OSError; FileNotFoundError where there is nothing.
    """
    bucket, key, _ = fs.split_path(path)
    prefix = f"{key.rstrip('/')}/" if key.strip("/") else ""
    asked = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "/"}
    is_there = not prefix  # a bucket may be empty
    while True:
        part = fs.call_s3("list_objects_v2", **asked)
        objects, folders = part.get("Contents") or (), part.get("CommonPrefixes") or ()
        is_there = is_there or bool(objects or folders)
        if not is_there:
            raise FileNotFoundError(path)
        names = [(str(one["Key"]).removeprefix(prefix), False) for one in objects]
        names += [(str(one["Prefix"]).removeprefix(prefix).removesuffix("/"), True) for one in folders]
        yield sorted(entry for entry in names if entry != ("", False))
        if not (token := part.get("NextContinuationToken")):
            return
        asked["ContinuationToken"] = token
