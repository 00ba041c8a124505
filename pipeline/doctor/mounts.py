"""Finds out which kind of disk a folder is on."""

import os
import re
from pathlib import Path

# File systems that another host may write to at the same time.
_REMOTE = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "coda", "gfs2", "glusterfs", "lustre", "ncpfs",
    "beegfs", "gpfs", "ocfs2", "orangefs", "davfs", "drvfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
    "fuse.glusterfs", "fuse.ceph", "fuse.davfs", "fuse.cifs", "fuse.goofys", "fuse.mount-s3",
})  # fmt: skip
_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


def mount_of(path: str, table: str | None = None) -> tuple[str, str] | None:
    """Returns the path's mount point and the name of its file system; None where the system has no table of mounts.

    table: in the form of /proc/self/mountinfo, which it is by default. Source: proc(5).
    """
    if table is None:
        try:
            table = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
    path, best = os.path.realpath(path), None
    for line in table.splitlines():
        head, dash, tail = line.partition(" - ")
        fields = head.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
        # Of several mounts on the same point, the last one hides the others.
        if (path + "/").startswith(point.rstrip("/") + "/") and (best is None or len(point) >= len(best[0])):
            best = (point, tail.split(" ")[0])
    return best


def is_remote(kind: str) -> bool:
    """Returns whether another host may have the same files open."""
    return kind in _REMOTE
