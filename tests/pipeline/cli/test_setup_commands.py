import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from pipeline.cli.main import cli, main
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.config.starting import starting_text

ROOT = Path(__file__).parents[3]


def test_answers_stand_in_a_configuration_that_explains_every_key(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    answers = f"{tmp_path}/scans\n{tmp_path}/a: b.db\nsmall\n"
    done = CliRunner().invoke(cli, ["init", str(path)], input=answers)
    assert done.exit_code == 0, done.output
    config = sources.load(str(path))
    assert config.ingest.paths == [f"{tmp_path}/scans"]
    assert config.store.database == f"{tmp_path}/a: b.db"
    changed = {"ingest": {"paths"}, "store": {"database"}}
    assert config.model_dump(exclude=changed) == Config().model_dump(exclude=changed)
    text = path.read_text(encoding="utf-8")
    assert "  #attempt_limit: 3" in text
    # As comments, all keys are there: without their # they are the defaults.
    plain = "\n".join(
        line.replace("#", "", 1) if line.lstrip()[:1] == "#" and line.lstrip()[1:2] != " " else line
        for line in starting_text({}).splitlines()
    )
    default = (ROOT / "configs" / "default.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(plain) == yaml.safe_load(default)


def test_it_never_overwrites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--yes"]) == 0
    written = Path("ocrbatch.yaml").read_text(encoding="utf-8")
    assert sources.load("ocrbatch.yaml").ingest.paths == [str(tmp_path)]
    assert main(["init", "--yes"]) == 2
    assert "it is there already and stays as it is" in capsys.readouterr().err
    assert Path("ocrbatch.yaml").read_text(encoding="utf-8") == written


def completed(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.cli"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    return done.stdout


def test_a_shell_completes_commands_and_options() -> None:
    words = completed(_OCRBATCH_COMPLETE="bash_complete", COMP_WORDS="ocrbatch ex", COMP_CWORD="1")
    assert words.split() == ["plain,export"]
    options = completed(_OCRBATCH_COMPLETE="bash_complete", COMP_WORDS="ocrbatch run --wa", COMP_CWORD="2")
    assert options.split() == ["plain,--watch"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_command_prints_what_click_itself_does(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out.strip() == completed(_OCRBATCH_COMPLETE=f"{shell}_source").strip()
