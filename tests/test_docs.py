"""The documents agree with the program."""

import os
import re
import shlex
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import get_args

import click
import pytest
import yaml
from pydantic import BaseModel

from pipeline.cli.main import cli
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.errors import ExitCode
from pipeline.types import DocumentStatus, PageStatus
from storage.export.rows import PageRow
from tests.benchmarks import headline

ROOT = Path(__file__).parent.parent
PACKAGES = ("pipeline", "ocr", "encoders", "storage", "configs", "tests")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(path for name in PACKAGES for path in (ROOT / name).rglob("*.md"))])
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in DOCUMENTS}
README = TEXTS["README.md"]
# Documents for contributors, about a room's modules.
ROOMS = {name for name in TEXTS if name.endswith("/README.md")} - {"configs/README.md"}
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
LINKS = [
    (name, target)
    for name, text in TEXTS.items()
    for target in re.findall(r"\]\(([^)\s]+)\)", text)
    if not target.startswith("https://")
]


def blocks(text: str) -> list[str]:
    return re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[str]:
    """Code in running text, on one line."""
    running = re.sub(r"^```\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", running)]


def shown_commands() -> Iterator[str]:
    """Commands in blocks of code and in comments of configurations."""
    fenced = "".join(block for text in TEXTS.values() for block in blocks(text))
    comments = "".join(path.read_text(encoding="utf-8") for path in CONFIGS)
    for line in (fenced + comments).splitlines():
        for command in line.split("&&"):
            if match := re.search(r"(?:^|[#*$] +|/bin/)(ocrbatch .*)", command.strip()):
                yield match[1]


def named_commands() -> Iterator[str]:
    """Commands with arguments in running text."""
    for text in TEXTS.values():
        yield from (span for span in spans(text) if re.match(r"ocrbatch [a-z]", span))


def named_modules() -> set[str]:
    texts = (" ".join(text.split()) for text in TEXTS.values())
    names = {name for text in texts for name in re.findall(r"\bpython -m (\w+(?:\.\w+)*)", text)}
    return {name for name in names if not name.endswith(".NAME")}


def anchors(text: str) -> set[str]:
    """Returns the anchors of a document's headings, as they are made where Markdown is shown."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


# Modules of others that documents tell to run.
OTHERS = {"venv", "torch.distributed.run"}
# Installed under another name than that of its place.
INSTALLED = {"ocrbatch": "pipeline.cli.ocrbatch"}
COMMANDS = list(dict.fromkeys(shown_commands()))
NAMED = sorted(set(named_commands()))


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


@pytest.mark.parametrize("command", [command for command in NAMED if "--help" not in command])
def test_commands_in_running_text_parse(command: str) -> None:
    """Commands that are named without arguments, such as `ocrbatch bench decode`, must be there."""
    words = shlex.split(command)[1:]
    found: click.Command = cli
    while words and isinstance(found, click.Group):
        found = found.commands[words.pop(0)]
    if words:
        parse(command)


def test_a_wrong_command_does_not_parse() -> None:
    with pytest.raises(click.UsageError):
        parse("ocrbatch run --no-such-option")


def test_every_command_is_documented() -> None:
    documented = {shlex.split(command)[1] for command in COMMANDS}
    assert documented >= set(cli.commands)


def test_readme_names_every_command() -> None:
    assert {name for name in cli.commands if f"ocrbatch {name}" not in README} == set()


def test_the_way_in_is_two_commands() -> None:
    """After the clone and, without a GPU, PyTorch's CPU build: one to read with it, one to work on it."""
    clone, cpu, run, *_ = found = blocks(README)
    assert clone.startswith("git clone ")
    assert cpu.endswith("/whl/cpu\n")
    assert run == "pip install -c constraints.txt . && ocrbatch run tests/samples\n"
    assert "pip install -c constraints.txt -e '.[test]' && pytest -n auto\n" in found


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 200


def test_every_document_can_be_reached_from_the_readme() -> None:
    """But for rooms' READMEs, which are found by their folders."""
    reached, found = set[str](), {"README.md"}
    while found - reached:
        name = (found - reached).pop()
        reached.add(name)
        found |= {linked(name, target) for source, target in LINKS if source == name} & set(TEXTS)
    assert set(TEXTS) - reached - ROOMS == set()


@pytest.mark.parametrize(("name", "target"), LINKS)
def test_every_link_leads_somewhere(name: str, target: str) -> None:
    path, _, anchor = target.partition("#")
    assert (ROOT / linked(name, target)).exists() if path else anchor
    if anchor:
        assert anchor in anchors(TEXTS[linked(name, target) if path else name])


def linked(name: str, target: str) -> str:
    return os.path.normpath(Path(name).parent / target.partition("#")[0])


@pytest.mark.parametrize("module", sorted(named_modules()))
def test_every_module_that_is_to_be_run_is_there(module: str) -> None:
    """Programs that make figures, above all; they must be programs, and others' modules must be installed."""
    assert module in OTHERS or is_program(module)


def test_every_test_that_is_to_be_run_is_there() -> None:
    paths = {
        span.split()[1] for text in TEXTS.values() for span in spans(text) if span.startswith("pytest tests/")
    }
    assert paths
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def test_every_key_that_is_named_is_there() -> None:
    """Spans such as `store.attempt_limit`."""
    sections = "|".join(name for name, field in Config.model_fields.items() if is_section(field.annotation))
    texts = [text for name, text in TEXTS.items() if name not in ROOMS]
    named = {span for text in texts for span in spans(text) if re.fullmatch(rf"({sections})\.[a-z_.]+", span)}
    assert len(named) > 15
    assert {key for key in named if not is_key(key)} == set()


def is_section(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def is_key(name: str) -> bool:
    found: object = Config()
    for part in name.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def is_program(module: str) -> bool:
    path = ROOT / INSTALLED.get(module, module).replace(".", "/")
    source = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    return source.is_file() and (
        "__main__" in source.name or "__name__ ==" in source.read_text(encoding="utf-8")
    )


def test_every_exit_code_is_documented() -> None:
    section = TEXTS["pipeline/run/NIGHTLY.md"].split("## Exit codes")[1].split("\n## ")[0]
    documented = {int(code) for code in re.findall(r"^\| (\d) \|", section, re.MULTILINE)}
    assert documented == set(ExitCode)


def test_every_page_status_is_documented() -> None:
    section = TEXTS["pipeline/outcome/STATUSES.md"].split("## Pages")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z]+)` \|", section, re.MULTILINE)) == set(get_args(PageStatus))


def test_every_document_status_is_documented() -> None:
    section = TEXTS["pipeline/outcome/STATUSES.md"].split("## Documents")[1]
    assert {status for status in get_args(DocumentStatus) if f"`{status}`" not in section} == set()


def test_every_key_of_a_json_line_is_documented() -> None:
    section = TEXTS["storage/export/FORMATS.md"].split("| key | value |")[1].split("\n## ")[0]
    documented = {key for cell in re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE) for key in spans(cell)}
    assert documented == set(PageRow.__annotations__)


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


def figure_cells(document: str) -> list[str]:
    """Returns the cells of a document's tables that are a figure, from left to right and top to bottom.

    What a command prints is none of its tables.
    """
    text = re.sub(r"^```.*?^```", "", TEXTS[document], flags=re.DOTALL | re.MULTILINE)
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [cell.strip() for row in rows for cell in row if re.fullmatch(r"[\d,]*\.?\d+%?", cell.strip())]


def test_the_tables_hold_the_figures_that_were_measured() -> None:
    """`python -m tests.benchmarks.headline` makes them; a cell holds one figure."""
    figures = headline.load()
    assert figure_cells("README.md") == headline.shown(figures, headline.README)
    assert figure_cells("ocr/families/MODELS.md") == headline.shown(figures, headline.MODELS)
    card = headline.shown(figures, headline.CARD)
    assert figure_cells("ocr/weights/small/MODEL_CARD.md")[: len(card)] == card
