"""Merges a configuration from its sources: defaults < configuration file < `--set` < command line options.

Keys are checked once, after merging; an error names the source that set the key, its dotted path, and the nearest valid
key.
"""

import difflib
import logging
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pipeline.config.schema import Config
from pipeline.errors import ConfigError
from storage.strings.urls import is_url

LOGGER = logging.getLogger("ocrbatch")
# A source's name and the values it sets, such as {"decode": {"batch_size": 4}}.
Layer = tuple[str, Mapping[str, Any]]
# The bonus for a key of the same section; small, so that the names' likeness decides first.
_SAME_SECTION = 0.1
# Keys that are gone, and what takes their place.
_WHOLE = (
    "pages are read whole; dense ones are best read line by line (reader) or in more tiles (tile.max_tiles)"
)
_GONE = {
    "tile.parts": _WHOLE,
    "ladder.rungs.parts": _WHOLE,
    "ladder.rungs.reader": "no page model ships since 0.1.0; a rung's own model reads pages: {name: whole, model: DIR}",
    "decode.length": "nothing counts a page's characters any more; decode.loop and decode.max_tokens end it",
    "decode.drafts": "every token comes from the model, one a step; without drafts the text is the same",
    "tile.retry_below": "ladder.below, or a rung's own below, says which pages are read again",
    "run.replicas": "cluster.workers says how many processes read; more of them than GPUs share these",
}
_PATH_KEYS = (
    ("ingest", "paths"),
    ("ingest", "manifest"),
    ("ingest", "spool"),
    ("ingest", "password_file"),
    ("store", "database"),
    ("run", "log_file"),
    ("run", "summary_file"),
    ("run", "pdf_to"),
    ("run", "move_to"),
)


def load(path: str | None = None, sets: Sequence[str] = (), options: Sequence[Layer] = ()) -> Config:
    """Returns the configuration merged from a YAML file, `key=value` texts and command line options.

    Raises: ConfigError naming the source, the key and the remedy.
    """
    layers: list[Layer] = [] if path is None else [(path, anchored(read_yaml(path), os.path.dirname(path)))]
    layers += [(_named(text), parse_set(text)) for text in sets]
    layers += options
    merged: dict[str, Any] = {}
    for _, values in layers:
        _merge(merged, values)
    try:
        return Config.model_validate(merged)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(detail, layers) for detail in error.errors())) from None


def as_stored(values: object) -> Config:
    """Returns a run's configuration as its row has it, less keys that are gone; the defaults for other unknown keys."""
    try:
        return Config.model_validate(_without_gone(values))
    except ValidationError:
        LOGGER.debug("the run's configuration cannot be used here", exc_info=True)
        return Config()


def _without_gone(values: Any, prefix: str = "") -> Any:
    if isinstance(values, list):
        return [_without_gone(value, prefix) for value in values]
    if not isinstance(values, Mapping):
        return values
    left = {key: value for key, value in values.items() if f"{prefix}{key}" not in _GONE}
    return {key: _without_gone(value, f"{prefix}{key}.") for key, value in left.items()}


def read_yaml(path: str) -> dict[str, Any]:
    """Returns the mapping in a YAML file. Raises: ConfigError."""
    import yaml  # imported late, here and below: most runs have no YAML at all

    try:
        values = _loaded(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"{path}: cannot read the configuration: {reason}; check --config") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(values, dict | None):
        raise ConfigError(f"{path}: expected `key: value` lines, found a {type(values).__name__}")
    return values or {}


def _loaded(text: str) -> Any:
    """Returns what YAML says. Raises: yaml.YAMLError, also where a key stands twice: it drops the first value."""
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            lines: dict[str, int] = {}
            for key, _ in node.value:
                here = key.start_mark.line + 1
                if (first := lines.setdefault(str(key.value), here)) != here:
                    raise yaml.YAMLError(
                        f"{key.value} stands twice, in lines {first} and {here}; make one of them"
                    )
            return super().construct_mapping(node, deep)

    return yaml.load(text, Loader)


def anchored(values: dict[str, Any], folder: str) -> dict[str, Any]:
    """Returns the values of a configuration file with relative paths resolved from its folder, and ~ expanded.

    The working directory will not do: under cron it is the home directory. A model is a path only if there is such a
    folder next to the file: names and Hugging Face ids look the same. Values that are not paths are left to validation.
    """

    def join(path: Any) -> Any:
        if not isinstance(path, str) or is_url(path):
            return path
        return os.path.join(folder, os.path.expanduser(path))

    merged = dict(values)
    for section, key in _PATH_KEYS:
        inner = merged.get(section)
        if isinstance(inner, Mapping) and key in inner:
            value = inner[key]
            value = [join(path) for path in value] if isinstance(value, list) else join(value)
            merged[section] = {**inner, key: value}
    if os.path.isdir(str(join(model := merged.get("model")))) and isinstance(model, str):
        merged["model"] = join(model)
    return merged


def parse_set(text: str) -> dict[str, Any]:
    """Returns {a: {b: value}} for "a.b=value", the value read as YAML. Raises: ConfigError."""
    key, equals, raw = text.partition("=")
    if not equals or not all(key.split(".")):
        raise ConfigError(f"--set {text}: expected key=value, such as --set decode.batch_size=4")
    import yaml

    try:
        value = yaml.safe_load(raw)
    except yaml.YAMLError as error:
        if raw.startswith("*"):  # a glob, which YAML would take for an alias
            return nest(key, raw)
        quoted = f"""--set '{key}="..."' or --set '{key}=["...", "..."]'"""
        raise ConfigError(
            f"--set {text}: the value is not valid YAML: {error}; text with special characters is quoted: {quoted}"
        ) from None
    return nest(key, value)


def nest(key: str, value: Any) -> dict[str, Any]:
    """Returns {a: {b: value}} for a dotted key "a.b"."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)


def layers(options: Mapping[str, tuple[str, Any]]) -> list[Layer]:
    """Returns a layer for each command line option that was given. options: name -> (dotted key, value or None)."""
    return [(name, nest(key, value)) for name, (key, value) in options.items() if value is not None]


def valid_keys(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[str]:
    """Yields every dotted key of the schema, sections included."""
    for name, field in model.model_fields.items():
        yield prefix + name
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from valid_keys(kind, f"{prefix}{name}.")


def nearest_key(key: str) -> str:
    """Returns the valid dotted key most similar to this one, compared as a whole and by its last part.

    Of two that are about equally similar, the one in the same section wins: `modle` is model rather than tile.mode.
    """
    section, _, last = key.rpartition(".")

    def likeness(candidate: str) -> tuple[float, float]:
        whole = difflib.SequenceMatcher(None, key, candidate).ratio()
        tail = difflib.SequenceMatcher(None, last, candidate.rpartition(".")[2]).ratio()
        return (max(whole, tail) + _SAME_SECTION * (candidate.rpartition(".")[0] == section), whole)

    return max(valid_keys(), key=likeness)


def _explain(detail: ErrorDetails, layers: Sequence[Layer]) -> str:
    path = [str(part) for part in detail["loc"]]
    key = ".".join(path)
    source = next((name for name, values in reversed(layers) if _has(values, path)), "configuration")
    if detail["type"] == "extra_forbidden":
        if (reason := _GONE.get(".".join(part for part in path if not part.isdecimal()))) is not None:
            return f"{source}: {key} is gone: {reason}"
        return f"{source}: unknown key {key}; did you mean {nearest_key(key)}?"
    message = detail["msg"].removeprefix("Value error, ")
    got = "" if "password" in key or "credentials" in message else f", got {detail['input']!r}"
    return f"{source}: {key}: {message}{got}"


def _named(text: str) -> str:
    """Returns how messages name a --set option, without its value where that may be a password."""
    key, _, value = text.partition("=")
    return f"--set {key}" if "password" in key and value else f"--set {text}"


def _has(values: Any, path: Sequence[str]) -> bool:
    for part in path:
        if isinstance(values, list) and part.isdecimal():
            return True
        if not isinstance(values, Mapping) or part not in values:
            return False
        values = values[part]
    return True


def _merge(base: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping):
            old = base.get(key)
            base[key] = dict(old) if isinstance(old, Mapping) else {}
            _merge(base[key], value)
        else:
            base[key] = value
