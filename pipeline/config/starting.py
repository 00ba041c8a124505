"""Writes a first configuration: the answers, and every other key as a comment with its default and explanation."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from importlib import resources

from pipeline.errors import ConfigError

_HEADER = """\
# A configuration of ocrbatch: keys with a # right before them are at their defaults. Relative paths are taken from
# this file's folder.
"""
_KEY = re.compile(r"( *)([a-z_0-9]+):(.*)")


def starting_text(answers: Mapping[str, object]) -> str:
    """Returns a configuration's YAML. answers: dotted keys -> values, such as {"ingest.paths": ["/srv/scans"]}."""
    default = resources.files("configs").joinpath("default.yaml").read_text(encoding="utf-8")
    _, _, keys = default.partition("\n\n")  # its first lines are about that file
    return _HEADER + "\n" + "\n".join(_lines(keys, answers)) + "\n"


def write_new(path: str, text: str) -> None:
    """Writes a file that is not there yet. Raises: ConfigError."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path}: it is there already and stays as it is; name another file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}; name another file") from None


def absolute(path: str) -> str:
    """Returns the path as it is to stand in a configuration, which may be used from any folder."""
    return os.path.abspath(os.path.expanduser(path))


def _lines(default: str, answers: Mapping[str, object]) -> Iterator[str]:
    section = ""
    for line in default.splitlines():
        found = _KEY.fullmatch(line)
        if found is None or line.lstrip().startswith("#"):
            # An explanation, an empty line, or a further line of a value.
            is_value = line.strip() and not line.lstrip().startswith("#")
            yield _commented(line) if is_value else line
            continue
        indent, name, value = found.groups()
        if not indent:
            section = name if not value.strip() else ""
        key = f"{section}.{name}" if section and indent else name
        if key in answers:
            yield f"{indent}{name}: {json.dumps(answers[key], ensure_ascii=False)}"
        elif not indent and section:
            yield line
        else:
            yield _commented(line)


def _commented(line: str) -> str:
    text = line.lstrip()
    return f"{line[: len(line) - len(text)]}#{text}"
