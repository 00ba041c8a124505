"""Defines the `doctor` command: parse, load, check, print. Each check imports the heavy modules it needs."""

import json
from dataclasses import asdict
from typing import Any

import click

from pipeline.cli.console import say, start_logging, verbose_option


@click.command()
@click.option("--config", "config_path", metavar="FILE", help="The YAML configuration file of your runs.")
@click.option("--db", "database", metavar="FILE", help="The database of your runs.  [default: ocrbatch.db]")
@click.option("--model", metavar="M", help='"small", a directory, or a Hugging Face id.')
@click.option("--cluster", metavar="ADDRESS", help="The Ray cluster of your runs; auto for this machine's.")
@click.option(
    "--read", is_flag=True, help="Also read a small page with the model, which takes seconds or more."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@verbose_option
def doctor(
    config_path: str | None,
    database: str | None,
    model: str | None,
    cluster: str | None,
    read: bool,
    as_json: bool,
    verbose: bool,
) -> int:
    """Check what a run needs on this machine, and say how to fix what is wrong.

    Exit code 6 if anything is. Nothing is downloaded, and no row is written to the database.
    """
    start_logging(verbose)
    from pipeline.config import sources
    from pipeline.doctor.examination import examine
    from pipeline.errors import ExitCode

    options: dict[str, tuple[str, Any]] = {
        "--db": ("store.database", database),
        "--model": ("model", model),
        "--cluster": ("cluster.address", cluster),
    }
    config = sources.load(config_path, (), sources.layers(options))
    findings = []
    for finding in examine(config, read=read):
        findings.append(finding)
        if not as_json:
            say([finding.line()])
    num_faults = sum(finding.state == "FAIL" for finding in findings)
    if as_json:
        report = {"faults": num_faults, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(report, indent=2))
    return ExitCode.FAULTY if num_faults else ExitCode.OK
