"""Measures all figures of the vision encoder and its graphs in one run, on a CUDA device:

python -m tests.benchmarks.encoder.encoder_figures figures.json
python -m tests.benchmarks.encoder.encoder_figures figures.json --sections machine,batches

Sections: machine, batches (device only), numerics, counts (every graph and number of views against eager), profile
(kernels; only on request). Requests from the host, and padding of mixed pages, are `ocrbatch bench encoder`'s to
measure. The JSON is written and the table printed after each section; one that fails is reported, and the others go on.
The model is DeepSeek-OCR's encoder at full size with random weights, unless another is named; TF32 is off. With --quick
a tiny model and tiny sizes show on any device that the program works; its figures mean nothing.
"""

import argparse
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from encoders.graphs.path import GraphPath
from encoders.views import PageViews
from pipeline.bench.encoding.encoder_arms import ManagedArm, ReferenceArm
from pipeline.bench.reference import load_reference, page_tokens
from pipeline.bench.roofline.bound import view_flops
from tests.benchmarks.encoder.encoder_profile import by_kind, profiled, text
from tests.benchmarks.encoder.encoder_rig import (
    QUICK,
    Effort,
    Rig,
    Shape,
    captured,
    device_ms,
    make_rig,
    once_ms,
    relative_errors,
)
from tests.benchmarks.encoder.encoder_tables import ARMS, TABLES, Found

SLOWER = 1.02  # the graph arm may be this much slower than eager before it is reported


def machine(rig: Rig, found: Found) -> Found:
    """Returns the machine, and the rate of a large matrix product."""
    on_cuda = rig.device.type == "cuda"
    side = rig.effort.matmul
    left, right = (torch.randn(side, side, device=rig.device, dtype=torch.bfloat16) for _ in range(2))
    ms = device_ms(rig, lambda: left @ right, 20)
    return {
        "device": torch.cuda.get_device_name(rig.device) if on_cuda else "cpu",
        "torch": torch.__version__,
        "dtype": str(rig.model.encoder.image_newline.dtype),
        "matmul_ms": ms,
        "matmul_tflops": 2 * side**3 / ms / 1e9,
    }


def batches(rig: Rig, found: Found) -> Found:
    """Times forwards and replays alone, inputs on the device, beside the rate of the matrix product."""
    rate = found.get("machine", {}).get("matmul_tflops")
    results: Found = {}
    found["batches"] = results
    for shape in rig.effort.shapes:
        times = {}
        for arm, measure in (("reference", _reference_ms), ("eager", _eager_ms), ("graph", _replay_ms)):
            with _reported(f"{_label(shape)}, {arm}"):
                times[arm] = measure(rig, shape, rig.effort.shape_repeats)
            rig.tidy()
        flops = shape[0] * view_flops(rig.model.config.encoder, shape[1])
        tflops = {arm: flops / ms / 1e9 for arm, ms in times.items()}
        results[_label(shape)] = {
            "gflop": flops / 1e9,
            "ms": times,
            "tflops": tflops,
            "share": {arm: value / rate for arm, value in tflops.items()} if rate else {},
        }
    return results


def numerics(rig: Rig, found: Found) -> Found:
    """Returns the largest relative L2 errors against transformers' classes in float32, and poisoning's effect."""
    effort = rig.effort
    inputs = {f"random {seed}": _fresh_pages(rig, seed) for seed in range(effort.parity_seeds)}
    inputs["real pages"] = rig.real_pages
    exact = load_reference(rig.model, torch.float32)
    expected = {
        name: [page.cpu() for page in page_tokens(exact.model, pages)] for name, pages in inputs.items()
    }
    del exact
    rig.tidy()
    results: Found = {"largest": {}, "each": {}}
    found["numerics"] = results
    for arm in ARMS:
        encoder = rig.arm(arm)
        encoder.start()
        each = {
            name: relative_errors(_on_host(encoder.encode(pages)), expected[name])
            for name, pages in inputs.items()
        }
        results["each"][arm] = each
        results["largest"][arm] = {name: max(errors) for name, errors in each.items()}
    results["hits"] = {name: stats["hits"] for name, stats in rig.arm("graph").statistics().items()}
    results["poisoned"] = _poisoned(rig, list(inputs.values()))
    return results


def counts(rig: Rig, found: Found) -> Found:
    """Times every captured size, as the manager measured it, and every number of views through it, beside eager."""
    graph = rig.arm("graph")
    assert isinstance(graph, ManagedArm)
    results: Found = {"sizes": {}, "counts": {}, "slower": []}
    found["counts"] = results
    for path, axis in zip(graph.paths, (rig.effort.view_px, 640), strict=True):
        try:
            results["sizes"][path.name] = _sizes(graph, path, axis)
        except (AttributeError, KeyError, TypeError):  # private state of the manager, which may have changed
            traceback.print_exc()
        rows = []
        for count in rig.effort.counts:
            row = _count(rig, graph, path, axis, count, rig.effort.count_repeats)
            if row["ratio"] > SLOWER:  # once more, so that no single disturbance is reported
                row = _count(rig, graph, path, axis, count, 3 * rig.effort.count_repeats)
            if row["ratio"] > SLOWER:
                results["slower"].append(
                    f"{path.name}: {count} views take {row['ratio']:.3f} of eager's time"
                )
            rows.append(row)
        results["counts"][path.name] = rows
    return results


def profiles(rig: Rig, found: Found, folder: Path) -> Found:
    """Returns the kernels of an eager forward, by kind; lists the longest in a text file beside the JSON."""
    results: Found = {}
    for shape in rig.effort.profiled:
        kernels = profiled(rig, partial(rig.model.encoder.encode_views, rig.pixels(shape)))
        label = _label(shape).replace(" ", "")
        (folder / f"profile-{label}.txt").write_text(text(label, kernels), encoding="utf-8")
        results[_label(shape)] = by_kind(kernels)
        rig.tidy()
    return results


@contextmanager
def _reported(what: str) -> Iterator[None]:
    """Reports an arm that runs out of memory for a batch, so that the others still count."""
    try:
        yield
    except RuntimeError as error:
        print(f"{what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


def _eager_ms(rig: Rig, shape: Shape, repeats: int) -> float:
    return device_ms(rig, partial(rig.model.encoder.encode_views, rig.pixels(shape)), repeats)


def _replay_ms(rig: Rig, shape: Shape, repeats: int) -> float:
    replay = captured(rig, partial(rig.model.encoder.encode_views, rig.pixels(shape)))
    return device_ms(rig, replay, repeats)


def _reference_ms(rig: Rig, shape: Shape, repeats: int) -> float:
    arm = rig.arm("reference")
    assert isinstance(arm, ReferenceArm)
    assert isinstance(arm.features, partial), "page_tokens of a model"
    return device_ms(rig, partial(_view_tokens, arm.features.args[0], rig.pixels(shape)), repeats)


def _view_tokens(model: Any, pixels: Tensor) -> Tensor:
    """Returns the tokens [B, g*g, D] of views [B, 3, S, S] uint8 on the device of transformers' model, no newlines."""
    like = next(model.parameters())
    features = model.vision_tower((pixels / 127.5 - 1).to(like.dtype)).last_hidden_state
    tokens: Tensor = model.multi_modal_projector(features)
    return tokens


def _fresh_pages(rig: Rig, seed: int) -> list[PageViews]:
    return [rig.random_page(rig.effort.page_grid, 100 + 2 * seed + index) for index in range(2)]


def _on_host(pages: Sequence[Tensor]) -> list[Tensor]:
    return [page.cpu() for page in pages]


def _poisoned(rig: Rig, inputs: Sequence[list[PageViews]]) -> Found:
    """Runs the same pages through the same graphs, as they are and with outputs filled with NaN before every replay.

    Another arm would have graphs of its own, and its own timing would choose which batches use them: batches that run
    eagerly in one and are replayed in the other round differently. hits: of the clean pass and of the poisoned one.
    """
    capture = rig.capture()
    arm = rig.graph_arm(rig.arm_settings(), capture)
    passes, hits = [], []
    for capture.poison in (False, True):
        arm.start()
        passes.append([page for pages in inputs for page in _on_host(arm.encode(pages))])
        hits.append({path: stats["hits"] for path, stats in arm.statistics().items()})
    nan_traps = {path: stats["nan_traps"] for path, stats in arm.statistics().items()}
    arm.close()
    clean, poisoned = passes
    return {
        "largest_difference": max(relative_errors(poisoned, clean)),
        "same_bits": all(torch.equal(a, b) for a, b in zip(poisoned, clean, strict=True)),
        "hits": hits,
        "nan_traps": nan_traps,
    }


def _sizes(graph: ManagedArm, path: GraphPath, axis: int) -> list[Found]:
    """Returns milliseconds by captured size, copies in and out included, as the manager measured.

    Empty without graphs.
    """
    state: Any = graph.manager._axes[path.name, axis]
    trials = getattr(state, "_trials", None)
    if trials is None:
        return []
    in_use = graph.manager.stats()[path.name].budgets.get(str(axis), [])
    return [
        {
            "views": tokens // path.unit_tokens(axis),
            "tokens": tokens,
            "eager_ms": trials.latencies.eager_at(tokens) * 1e3,
            "graph_ms": seconds * 1e3,
            "in_use": tokens in in_use,
        }
        for tokens, seconds in sorted(trials.latencies.replay.items())
    ]


def _count(rig: Rig, graph: ManagedArm, path: GraphPath, axis: int, count: int, repeats: int) -> Found:
    """Times both in turn, so that neither has the warmer device; each with its copies to the device."""
    units = path.examples(axis, count * path.unit_tokens(axis))

    def eagerly() -> object:
        return path.forward(path.collate(units, rig.device))

    def through_graphs() -> object:
        return graph.manager.encode({path.name: units})

    graph.start()
    for call in (eagerly, through_graphs):
        call()
    pairs = [(once_ms(rig, eagerly), once_ms(rig, through_graphs)) for _ in range(repeats)]
    eager, ours = (statistics.median(times) for times in zip(*pairs, strict=True))
    stats = graph.statistics()[path.name]
    return {
        "views": count,
        "eager_ms": eager,
        "graph_ms": ours,
        "ratio": ours / eager,
        "hit_rate": stats["hit_rate"],
        "padding": stats["padding_share"],
    }


def _label(shape: Shape) -> str:
    return f"{shape[0]} x {shape[1]}"


def run(rig: Rig, names: Sequence[str], output: Path, limit_s: float) -> Found:
    """Returns the figures of the sections, writing them after each one. limit_s: starts no section after it."""
    measures: dict[str, Callable[[Rig, Found], Found]] = {
        "machine": machine,
        "batches": batches,
        "numerics": numerics,
        "counts": counts,
        "profile": partial(profiles, folder=output.parent),
    }
    found: Found = {"seconds": {}}
    begun = time.perf_counter()
    for name in names:
        start = time.perf_counter()
        if start - begun > limit_s:
            found[name] = {"error": f"not begun: {limit_s:.0f} s had gone"}
            continue
        print(f"\n## {name}\n", flush=True)
        try:
            with torch.inference_mode():
                found[name] = measures[name](rig, found)
            print(TABLES[name](found[name]), flush=True)
        except Exception as error:  # the sections after it still count
            traceback.print_exc()
            found[name] = found.get(name, {}) | {"error": f"{type(error).__name__}: {error}"}
        found["seconds"][name] = time.perf_counter() - start
        print(f"\n{name}: {found['seconds'][name]:.1f} s", flush=True)
        output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def parse_sections(asked: str | None) -> list[str]:
    """Returns sections from their names, separated by commas, in the order given. Raises SystemExit for others."""
    if asked is None:
        return [name for name in TABLES if name != "profile"]
    names = [entry.strip() for entry in asked.split(",")]
    if unknown := set(names) - set(TABLES):
        sys.exit(f"--sections: there is no {min(unknown)}; choose from {', '.join(TABLES)}")
    return names


def main(arguments: Sequence[str] | None = None) -> Found:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="JSON file for the figures")
    parser.add_argument("--sections", help="names, by default all but profile")
    parser.add_argument("--model", help='"random" (the default), "tiny", or a model as a run takes it')
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--quick", action="store_true", help="a tiny model and tiny sizes")
    parser.add_argument("--limit-s", type=float, default=420.0, help="no section is begun after so long")
    asked = parser.parse_args(arguments)
    names = parse_sections(asked.sections)
    device = torch.device(asked.device)
    if device.type == "cuda":
        device = torch.device("cuda", device.index or 0)
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
    elif not asked.quick:
        parser.error("needs a CUDA device; --quick shows on any device that it works")
    model = asked.model or ("tiny" if asked.quick else "random")
    effort = QUICK if asked.quick else Effort()
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    rig = make_rig(model, device, getattr(torch, asked.dtype), effort)
    return run(rig, names, asked.output, asked.limit_s)


if __name__ == "__main__":
    main()
