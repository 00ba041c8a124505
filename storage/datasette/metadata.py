"""Describes a database to Datasette: titles, what columns hold, which tables can be searched, and a few queries."""

import os
from importlib import resources
from typing import Any

import yaml

# The name in the file that is shipped: that of the default database.
_NAME = "ocrbatch"


def metadata(database: str) -> dict[str, Any]:
    """Returns Datasette's metadata for a database file. Datasette knows it by its name without the ending."""
    text = resources.files("storage.datasette").joinpath("metadata.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    found["databases"] = {os.path.splitext(os.path.basename(database))[0]: found["databases"][_NAME]}
    return found


def metadata_yaml(database: str) -> str:
    """Returns the same as YAML."""
    return yaml.safe_dump(metadata(database), allow_unicode=True, sort_keys=False, width=110)
