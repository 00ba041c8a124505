"""What the documents say is what the program does."""

import re
import shlex
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import get_args

import click
import pytest
import yaml

from pipeline.cli.main import cli
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.errors import ExitCode
from pipeline.types import DocumentStatus

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def documented_commands() -> Iterator[str]:
    fenced = "".join(re.findall(r"^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL))
    comments = "".join(path.read_text(encoding="utf-8") for path in CONFIGS)
    for line in (fenced + comments).splitlines():
        for command in line.split("&&"):
            if match := re.search(r"(?:^|[#*] +)(ocrbatch .*)", command.strip()):
                yield match[1]


COMMANDS = list(documented_commands())


def parse(command: str) -> click.Context:
    name, *args = shlex.split(command)[1:]
    found = cli.commands[name]
    while isinstance(found, click.Group):
        name, *args = args
        found = found.commands[name]
    return found.make_context(name, args)


@pytest.mark.parametrize("command", [command for command in COMMANDS if "--help" not in command])
def test_documented_commands_parse(command: str) -> None:
    context = parse(command)
    if context.command.name == "run":
        sources.load(None, context.params["sets"])


def test_a_wrong_command_does_not_parse() -> None:
    with pytest.raises(click.UsageError):
        parse("ocrbatch run --no-such-option")


def test_every_command_is_documented() -> None:
    documented = {shlex.split(command)[1] for command in COMMANDS}
    assert documented >= set(cli.commands)


def test_the_two_commands_stand_first() -> None:
    blocks = re.findall(r"^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert blocks[:2] == [
        "pip install -c constraints.txt . && ocrbatch run tests/samples\n",
        "pip install -c constraints.txt -e '.[test]' && pytest -n auto\n",
    ]


def test_every_exit_code_is_documented() -> None:
    section = README.split("## Exit codes")[1].split("\n## ")[0]
    documented = {int(code) for code in re.findall(r"^\| (\d) \|", section, re.MULTILINE)}
    assert documented == set(ExitCode)


def test_every_document_status_is_documented() -> None:
    section = README.split("## Page status")[1].split("\n## ")[0]
    assert {status for status in get_args(DocumentStatus) if f"`{status}`" not in section} == set()


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_loads(path: Path) -> None:
    assert isinstance(sources.load(str(path)), Config)


def test_default_yaml_is_the_schema() -> None:
    values = yaml.safe_load((ROOT / "configs" / "default.yaml").read_text(encoding="utf-8"))
    expected = Config().model_dump(mode="json")
    # A rung has only the keys that it changes.
    expected["ladder"]["rungs"] = [rung.model_dump(exclude_defaults=True) for rung in Config().ladder.rungs]
    assert values == expected


def test_default_yaml_explains_every_key() -> None:
    lines = (ROOT / "configs" / "default.yaml").read_text(encoding="utf-8").splitlines()
    keys = [number for number, line in enumerate(lines) if re.match(r" *[a-z_]+:", line)]
    assert len(keys) > 20
    assert [lines[number] for number in keys if not lines[number - 1].lstrip().startswith("#")] == []


def test_configs_are_package_data() -> None:
    assert resources.files("configs").joinpath("default.yaml").is_file()
