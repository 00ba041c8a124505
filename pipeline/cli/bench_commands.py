"""Defines the `bench` commands: parse, load, call, print. Each command imports the heavy modules it needs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pipeline.cli.console import device_option, say, verbose_option

if TYPE_CHECKING:
    from pipeline.bench.bench_figures import Figures


F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def bench() -> None:
    """Measure how fast parts of ocrbatch are on this machine."""


def _count(name: str, default: int | None, words: str, *, least: int = 1, **more: Any) -> Callable[[F], F]:
    """Returns an option that takes a whole number. default: shown, None for none."""
    return click.option(
        name,
        type=click.IntRange(least),
        default=default,
        show_default=default is not None,
        help=words,
        **more,
    )


def _model(words: str) -> Callable[[F], F]:
    return click.option("--model", metavar="M", default="random", show_default=True, help=words)


model_option = _model('A directory or a hub id; "random": DeepSeek-OCR at full size with random weights.')
dtype_option = click.option(
    "--dtype", type=click.Choice(["auto", "float32", "bfloat16"]), default="auto", show_default=True
)
output_json_option = click.option(
    "--output-json", metavar="FILE", help="Also write all figures to this file."
)


@bench.command("encoder")
@_model(
    'A directory or a hub id, of any family; "random:NAME": published sizes with random weights, without a name '
    "DeepSeek-OCR's."
)
@device_option
@dtype_option
@click.option(
    "--arms", metavar="A,B", default="reference,eager,graph", show_default=True, help="Arms to compare."
)
@_count("--num-prompts", 32, "Number of images or pages.")
@_count("--num-warmups", 3, "Untimed warm-up batches in every arm.", least=0)
@_count("--batch-size", 1, "Pages encoded at once.")
@_count("--max-items", 32, "Most views in a batch.")
@_count("--max-frames", 64, "Most frames of videos in a batch.")
@click.option(
    "--budgets",
    metavar="B",
    default="default",
    show_default=True,
    help='Graph sizes: "default" doubles, "auto" chooses by measurements on this machine, "fitted" takes those that '
    "pad the requests least; or tokens for each path, such as {global: [256, 512]}.",
)
@click.option(
    "--buckets",
    metavar="SIZES",
    default="{(1024, 1024): 1.0}",
    show_default=True,
    help="Random images: (height, width) and their probability.",
)
@click.option("--pages", metavar="DIR", help="Use pages of the documents in this folder instead.")
@_count("--frames", None, "Use random videos of so many frames instead, in the sizes of --buckets.")
@_count(
    "--memory-limit", None, "Most memory for graphs and their buffers.  [default: no limit]", metavar="MIB"
)
@_count(
    "--ranks",
    1,
    "Also share the encoder out over N GPUs, as a run does with cluster.encoder_parallel; with --device cpu over "
    "threads.",
    metavar="N",
)
@click.option(
    "--items-per-request",
    type=(click.IntRange(1), click.IntRange(1)),
    metavar="N M",
    default=(1, 1),
    show_default=True,
    help="Least and most images, videos or pages of a request; vLLM's --limit-mm-per-prompt is the second.",
)
@click.option(
    "--request-rate",
    type=click.FloatRange(0, min_open=True),
    metavar="R",
    help="Let R requests a second arrive, on average (Poisson). Times are with queueing then, and a batch is of those "
    "that wait, at most --batch-size.  [default: one batch after the other]",
)
@click.option(
    "--percentile",
    "percentiles",
    type=click.FloatRange(0, 100),
    default=[99],
    show_default=True,
    multiple=True,
    help="Of the times in the table; give it once for each.",
)
@click.option(
    "--attention",
    type=click.Choice(["flash", "efficient", "cudnn", "varlen"]),
    help="PyTorch's attention in our arms: a back end of scaled_dot_product_attention, or the kernel for sequences."
    "  [default: as in a run]",
)
@click.option("--seed", type=int, default=0, show_default=True)
@output_json_option
@verbose_option
def bench_encoder(
    buckets: str,
    budgets: str,
    frames: int | None,
    memory_limit: int | None,
    output_json: str | None,
    **options: Any,
) -> None:
    """Time the vision encoder with and without graphs against transformers' own, in the table of vLLM's benchmark."""
    from pipeline.device.startup.loading import calm_threads

    calm_threads()
    from pipeline.bench.encoding import encoder_bench
    from pipeline.bench.encoding.requests import parse_buckets, parse_budgets

    options |= {
        "buckets": parse_buckets(buckets),
        "budgets": parse_budgets(budgets),
        "frames": frames or 0,
        "memory_limit": memory_limit << 20 if memory_limit else None,
    }
    _show(encoder_bench.run(**options), output_json)


@bench.command("decode")
@model_option
@device_option
@dtype_option
@click.option(
    "--arms",
    metavar="A,B",
    help="Any of generate, engine, paged (on a GPU).  [default: all that can be measured]",
)
@click.option(
    "--pages", metavar="DIR", help="Use pages of the documents in this folder instead of random prompts."
)
@_count("--num-pages", 8, "Most pages to read.")
@_count("--batch-size", 8, "Pages decoded at once.")
@_count("--prompt-tokens", 903, "Length of each random prompt; no end of text cuts the output short.")
@_count("--max-new-tokens", 256, "Most tokens to write for a page.")
@output_json_option
@verbose_option
def bench_decode(output_json: str | None, **options: Any) -> None:
    """Time decoding against transformers' generate, and compare the output."""
    from pipeline.device.startup.loading import calm_threads

    calm_threads()
    from pipeline.bench.generation import decode_bench

    _show(decode_bench.run(**options), output_json)


@bench.command("pipeline")
@click.argument("paths", nargs=-1, metavar="PATH...", required=True)
@model_option
@device_option
@dtype_option
@_count("--num-pages", None, "Copy the documents up to this many pages.  [default: no copies]")
@_count(
    "--output-tokens",
    None,
    "Write this many tokens for every page; at most so many with models of other families than DeepSeek-OCR."
    "  [default: up to its end; 1000 with random weights]",
)
@_count("--batch-size", None, "Pages decoded at once.  [default: as in a run]")
@click.option("--mode", type=click.Choice(["tiny", "small", "base", "large", "gundam"]), help="Tiling mode.")
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help="Change one configuration key.")
@output_json_option
@verbose_option
def bench_pipeline(output_json: str | None, **options: Any) -> None:
    """Time a whole run from files to rows, with a model of any family, and report what limits it.

    A directory with a config.json but no weights is a model of that shape with random weights.
    """
    from pipeline.bench.whole_run import run_bench

    _show(run_bench.run(**options), output_json)


def _show(found: "Figures", output_json: str | None) -> None:
    """Prints the report, and writes all figures as one JSON object if asked to. Raises: OSError."""
    say(found.lines)
    if output_json:
        Path(output_json).write_text(json.dumps(found.values, indent=2) + "\n", encoding="utf-8")
