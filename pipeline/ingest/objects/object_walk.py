"""Lists the objects below URLs, in a stable order and folder by folder; opens none."""

from collections.abc import Iterator, Sequence
from itertools import chain

from pipeline.documents.settings import IngestSettings
from pipeline.errors import ConfigError
from pipeline.ingest.found import Candidate, Found, unreadable
from pipeline.ingest.globs import matcher
from pipeline.ingest.objects.patience import StalledError
from pipeline.ingest.objects.stores import check, is_folder, listed_in_parts, reason_of
from storage.strings.urls import is_web, name_of


def canonical_url(url: str) -> str:
    """Returns the one URL of an object or folder: without slashes at its end, but for a web address."""
    return url if is_web(url) else url.rstrip("/") if url.partition("://")[2].strip("/") else url


def checked_roots(urls: Sequence[str], settings: IngestSettings) -> list[tuple[str, bool]]:
    """Returns each URL and whether it is a folder. Raises: ConfigError naming one that cannot be read."""
    roots = []
    for url in urls:
        check(url)
        try:
            roots.append((canonical_url(url), is_folder(url, settings.object_timeout_s)))
        except (OSError, StalledError) as error:
            raise ConfigError(f"{url}: {reason_of(error)}; check the URL") from error
        except ConfigError:
            raise
        except Exception as error:  # what a store's own library raises: no credentials, no such host
            raise ConfigError(f"{url}: {reason_of(error)}; check the URL and the credentials") from error
    return roots


def walk_objects(roots: Sequence[tuple[str, bool]], settings: IngestSettings) -> Iterator[Found]:
    """Yields a Candidate for each object, a Document for a folder that cannot be listed.

    roots: from checked_roots. Of each folder first the objects by name, then the folders by name, as of a local one.
    Hidden names and those that the globs leave out are no inputs; of an object that is also a folder both are.
    """
    included, excluded = matcher(settings.include), matcher(settings.exclude)
    takes_all = not settings.include
    for root, root_is_folder in roots:
        if not root_is_folder:
            yield Candidate(path=root, relative=name_of(root), given=root)
            continue
        stack = [(root, "")]
        while stack:
            folder, prefix = stack.pop()
            folders: list[tuple[str, str]] = []
            try:
                for name, its_folder in chain.from_iterable(
                    listed_in_parts(folder, settings.object_timeout_s)
                ):
                    relative, url = prefix + name, f"{folder}/{name}"
                    if not name:
                        yield unreadable(
                            url, "broken", "a folder without a name (//) cannot be listed; rename it"
                        )
                    elif name.startswith(".") or excluded(relative):
                        continue
                    elif its_folder:
                        folders.append((url, relative + "/"))
                    elif takes_all or included(relative):
                        yield Candidate(path=url, relative=relative, given=url)
            except Exception as error:
                yield unreadable(folder, "broken", f"folder cannot be listed: {reason_of(error)}")
            stack.extend(reversed(folders))
