"""A store in memory whose objects misbehave as their names say; for fsspec, as faulty://."""

import threading
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

never = threading.Event()


class FaultyStore(MemoryFileSystem):
    protocol = "faulty"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    opened: ClassVar[list[str]] = []
    unlistable: ClassVar[set[str]] = set()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("faulty://").strip("/") if path.strip("/") else ""

    def ls(self, path: str, detail: bool = True, **settings: Any) -> Any:
        if path in self.unlistable:
            raise PermissionError(path)
        return super().ls(path, detail, **settings)

    def open(self, path: str, mode: str = "rb", **settings: Any) -> Any:
        if mode == "rb":
            FaultyStore.opened.append(path)
            if "stalled" in path:
                never.wait(30)
            if "forbidden" in path:
                raise PermissionError(path)
            if "flaky" in path and FaultyStore.opened.count(path) == 1:
                raise ConnectionError("reset by peer")
            if "gone" in path:
                raise FileNotFoundError(path)
            settings = {}
        return super().open(path, mode, **settings)


def fresh() -> FaultyStore:
    """Returns the store, empty."""
    fsspec.register_implementation("faulty", FaultyStore, clobber=True)
    FaultyStore.store.clear()
    FaultyStore.pseudo_dirs[:] = [""]
    FaultyStore.opened.clear()
    FaultyStore.unlistable.clear()
    return FaultyStore()
