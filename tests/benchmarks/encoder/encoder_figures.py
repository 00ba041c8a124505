"""Measures all figures of the vision encoder and its graphs in one run, on a CUDA device:

python -m tests.benchmarks.encoder.encoder_figures figures.json
python -m tests.benchmarks.encoder.encoder_figures figures.json --sections machine,batches

Sections: machine, batches (device only), numerics, counts (every graph and number of views against eager), profile
(kernels). Requests from the host, and padding of mixed pages, are `ocrbatch bench encoder`'s to measure. The JSON is
written and the tables printed after each section; one that fails is reported, and the others go on.
The model is DeepSeek-OCR's encoder at full size with random weights, unless another is named; TF32 is off. With --quick
a tiny model and tiny sizes show on any device that the program works; its figures mean nothing.
"""

import statistics
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from encoders.graphs.path import GraphPath
from encoders.views import PageViews
from pipeline.bench.encoding.encoder_arms import ARMS, ManagedArm, ReferenceArm
from pipeline.bench.reference import load_reference, page_tokens
from pipeline.bench.roofline.bound import view_flops
from pipeline.bench.roofline.rates import measure_rates
from tests.benchmarks.device_rig import Found, device_of, reported, run_sections, sections_parser
from tests.benchmarks.encoder.encoder_rig import QUICK, Effort, Rig, Shape, make_rig, relative_errors

SLOWER = 1.02  # the graph arm may be this much slower than eager before it is reported


def machine(rig: Rig) -> Found:
    """Returns the machine, and the rates of a large matrix product and of a copy."""
    dtype = rig.model.encoder.image_newline.dtype
    rates = measure_rates(rig.device, dtype)
    return {
        "device": torch.cuda.get_device_name(rig.device) if rates else str(rig.device),
        "torch": torch.__version__,
        "dtype": str(dtype),
        "matmul_tflops": rates.matrix_flops_s / 1e12 if rates else None,
        "copy_gb_s": rates.copy_bytes_s / 1e9 if rates else None,
    }


def batches(rig: Rig) -> Found:
    """Times forwards and replays alone, inputs on the device, beside the rate of the matrix product."""
    rates = measure_rates(rig.device, rig.model.encoder.image_newline.dtype)
    results: Found = {"ms": {}, "tflops": {}, "share": {}}
    for shape in rig.effort.shapes:
        times = {}
        for arm, measure in (("reference", _reference_ms), ("eager", _eager_ms), ("graph", _replay_ms)):
            with reported(f"{_label(shape)}, {arm}"):
                times[arm] = measure(rig, shape, rig.effort.shape_repeats)
            rig.clock.tidy()
        flops = shape[0] * view_flops(rig.model.config.encoder, shape[1])
        results["ms"][_label(shape)] = times
        results["tflops"][_label(shape)] = {arm: flops / ms / 1e9 for arm, ms in times.items()}
        if rates:
            results["share"][_label(shape)] = {
                arm: flops / ms * 1e3 / rates.matrix_flops_s for arm, ms in times.items()
            }
    return results


def numerics(rig: Rig) -> Found:
    """Returns the largest relative L2 errors against transformers' classes in float32, and poisoning's effect."""
    effort = rig.effort
    inputs = {f"random {seed}": _fresh_pages(rig, seed) for seed in range(effort.parity_seeds)}
    inputs["real pages"] = rig.real_pages
    exact = load_reference(rig.model, torch.float32)
    expected = {
        name: [page.cpu() for page in page_tokens(exact.model, pages)] for name, pages in inputs.items()
    }
    del exact
    rig.clock.tidy()
    results: Found = {"largest": {}, "each": {}}
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


def counts(rig: Rig) -> Found:
    """Times every captured size, as the manager measured it, and every number of views through it, beside eager."""
    graph = rig.arm("graph")
    assert isinstance(graph, ManagedArm)
    results: Found = {"sizes": {}, "counts": {}, "slower": []}
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


def profiles(rig: Rig) -> Found:
    """Returns the kernels of an eager forward, by kind and the longest."""
    results: Found = {}
    for shape in rig.effort.profiled:
        results[_label(shape)] = rig.clock.kernels(partial(rig.model.encoder.encode_views, rig.pixels(shape)))
        rig.clock.tidy()
    return results


def _eager_ms(rig: Rig, shape: Shape, repeats: int) -> float:
    return rig.clock.ms(partial(rig.model.encoder.encode_views, rig.pixels(shape)), repeats)


def _replay_ms(rig: Rig, shape: Shape, repeats: int) -> float:
    replay = rig.clock.captured(partial(rig.model.encoder.encode_views, rig.pixels(shape)))
    return rig.clock.ms(replay, repeats)


def _reference_ms(rig: Rig, shape: Shape, repeats: int) -> float:
    arm = rig.arm("reference")
    assert isinstance(arm, ReferenceArm)
    assert isinstance(arm.features, partial), "page_tokens of a model"
    return rig.clock.ms(partial(_view_tokens, arm.features.args[0], rig.pixels(shape)), repeats)


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
    state: Any = graph.manager.managers[0]._axes[path.name, axis]
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
    pairs = [(rig.clock.once_ms(eagerly), rig.clock.once_ms(through_graphs)) for _ in range(repeats)]
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


SECTIONS = {
    "machine": machine,
    "batches": batches,
    "numerics": numerics,
    "counts": counts,
    "profile": profiles,
}


def main(words: Sequence[str] | None = None) -> Found:
    parser = sections_parser(__doc__)
    parser.add_argument("--model", help='"random" (the default), "tiny", or a model as a run takes it')
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    asked = parser.parse_args(words)
    device = device_of(parser, asked)
    model = asked.model or ("tiny" if asked.quick else "random")
    rig = make_rig(model, device, getattr(torch, asked.dtype), QUICK if asked.quick else Effort())
    return run_sections({name: partial(measure, rig) for name, measure in SECTIONS.items()}, asked, rig.clock)


if __name__ == "__main__":
    main()
