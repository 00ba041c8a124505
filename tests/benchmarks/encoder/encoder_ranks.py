"""Checks that an encoder distributed over ranks returns a single rank's results, and measures its speed-up.

python -m torch.distributed.run --standalone --nproc-per-node 4 -m tests.benchmarks.encoder.encoder_ranks \\
    --output ranks.json
python -m torch.distributed.run --standalone --nproc-per-node 2 -m tests.benchmarks.encoder.encoder_ranks --quick

One CUDA device a rank with NCCL, or a tiny model on the CPU with Gloo. Results are compared bit for bit and by their
relative L2 error: a rank's batches are smaller than a single rank's, so other kernels are chosen and bfloat16 rounds
differently. Gathered results must be bitwise equal on all ranks, and equal to what each rank computed.
"""

import argparse
import hashlib
import json
import os
import statistics
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from encoders.graphs.parallel import assign, encode_shared
from encoders.graphs.path import GraphPath, Unit
from pipeline.bench.encoding.encoder_arms import GraphArm
from tests.benchmarks.encoder.encoder_rig import QUICK, Effort, Rig, make_rig, once_ms

Outputs = dict[str, Tensor]
Named = tuple[str, Unit]  # the path's name, and a unit of it
TOLERANCE = {torch.bfloat16: 2e-2, torch.float32: 1e-5}


class Encoder:
    """The encoder of one rank: units of both paths in any order, through the graph manager."""

    def __init__(self, rig: Rig) -> None:
        arm = rig.arm("graph")
        assert isinstance(arm, GraphArm)
        self._arm = arm
        self.last: list[Outputs] = []

    def units(self, num_tiles: int, num_globals: int, view_px: int) -> list[Named]:
        """Returns random units, tiles first; the same on every rank."""
        torch.manual_seed(num_tiles + 1000 * num_globals)
        whole, tiles = self._arm.paths
        return _examples(tiles, num_tiles, 640) + _examples(whole, num_globals, view_px)

    def encode(self, units: Sequence[Named]) -> list[Outputs]:
        """Returns each unit's outputs, in order."""
        by_path: dict[str, list[Unit]] = {}
        for name, unit in units:
            by_path.setdefault(name, []).append(unit)
        encoded = {name: iter(found) for name, found in self._arm.manager.encode(by_path).items()}
        self.last = [next(encoded[name]).outputs for name, _ in units]
        return self.last


def check(rig: Rig, encoder: Encoder, units: Sequence[Named]) -> dict[str, Any]:
    """Compares the units encoded by all ranks with all of them encoded on this rank alone."""
    encoder.last = []
    gathered = encode_shared(units, _sizes(units), encoder.encode, rig.device)
    mine = encoder.last
    share = assign(_sizes(units), dist.get_world_size())[dist.get_rank()]
    kept = all(
        torch.equal(gathered[index]["tokens"], own["tokens"]) for index, own in zip(share, mine, strict=True)
    )
    alone = encoder.encode(units) if units else []
    errors = [_error(ours["tokens"], own["tokens"]) for ours, own in zip(gathered, alone, strict=True)]
    same = [torch.equal(ours["tokens"], own["tokens"]) for ours, own in zip(gathered, alone, strict=True)]
    told = {
        "units": len(units),
        "share": len(share),
        "digest": _digest(gathered),
        "own_share_kept": kept,
        "same_bits_as_alone": sum(same),
        "largest_error": max(errors, default=0.0),
    }
    ranks = _from_all(told)
    tolerance = TOLERANCE[rig.model.encoder.image_newline.dtype]
    return {
        "units": len(units),
        "shares": [rank["share"] for rank in ranks],
        "same_on_all_ranks": len({rank["digest"] for rank in ranks}) == 1,
        "own_shares_kept": all(rank["own_share_kept"] for rank in ranks),
        "same_bits_as_alone": min(rank["same_bits_as_alone"] for rank in ranks),
        "largest_error": max(rank["largest_error"] for rank in ranks),
        "tolerance": tolerance,
        "ok": len({rank["digest"] for rank in ranks}) == 1
        and all(rank["own_share_kept"] for rank in ranks)
        and max(rank["largest_error"] for rank in ranks) <= tolerance,
    }


def times(rig: Rig, encoder: Encoder, units: Sequence[Named], repeats: int) -> dict[str, Any]:
    """Returns the milliseconds of all units on one rank (the first, while the others wait) and on all, gathered."""
    alone = 0.0
    if dist.get_rank() == 0:
        alone = _median(rig, partial(encoder.encode, units), repeats, together=False)
    shared = partial(encode_shared, units, _sizes(units), encoder.encode, rig.device)
    slowest = max(_from_all(_median(rig, shared, repeats, together=True)))
    ranks = dist.get_world_size()
    first = _from_all(alone)[0]
    return {
        "units": len(units),
        "one_rank_ms": first,
        "shared_ms": slowest,
        "speed_up": first / slowest,
        "efficiency": first / slowest / ranks,
    }


def _examples(path: GraphPath, count: int, axis: int) -> list[Named]:
    if not count:
        return []
    return [(path.name, unit) for unit in path.examples(axis, count * path.unit_tokens(axis))]


def _sizes(units: Sequence[Named]) -> list[int]:
    """Returns the patches of each view, the measure of the work."""
    return [unit.inputs["pixels"].shape[-1] ** 2 // 256 for _, unit in units]


def _median(rig: Rig, call: Any, repeats: int, *, together: bool) -> float:
    call()
    spans = []
    for _ in range(repeats):
        if together:
            dist.barrier()
        spans.append(once_ms(rig, call))
    return statistics.median(spans)


def _from_all(value: Any) -> list[Any]:
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def _error(ours: Tensor, own: Tensor) -> float:
    return float((ours.double() - own.double()).norm() / own.double().norm())


def _digest(outputs: Sequence[Outputs]) -> str:
    whole = hashlib.sha256()
    for output in outputs:
        for name in sorted(output):
            whole.update(output[name].cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()


def measure(rig: Rig, repeats: int) -> dict[str, Any]:
    """Returns all checks and times; every rank must call it. Only the first rank's times alone are its own."""
    encoder = Encoder(rig)
    ranks = dist.get_world_size()
    side = rig.effort.view_px
    many = (4, 2) if rig.effort is QUICK else (64, 16)
    cases = {
        "none": (0, 0),
        "fewer than ranks": (1, 0),
        "uneven": (2 * ranks + 1, 1),
        "only global views": (0, ranks + 1),
        "many": many,
    }
    checks = {name: check(rig, encoder, encoder.units(*case, side)) for name, case in cases.items()}
    return {
        "ranks": ranks,
        "device": torch.cuda.get_device_name(rig.device) if rig.device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "checks": checks,
        "times": times(rig, encoder, encoder.units(*many, side), repeats),
        "ok": all(found["ok"] for found in checks.values()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    parser.add_argument("--model", help='"random" (the default), "tiny", or a model as a run takes it')
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--quick", action="store_true", help="a tiny model and tiny sizes")
    parser.add_argument("--repeats", type=int, default=10)
    asked = parser.parse_args()
    local = int(os.environ.get("LOCAL_RANK", "0"))
    on_cuda = torch.cuda.is_available()
    if on_cuda:
        torch.cuda.set_device(local)
    elif not asked.quick:
        parser.error("needs CUDA devices; --quick shows on any machine that it works")
    device = torch.device("cuda", local) if on_cuda else torch.device("cpu")
    effort = QUICK if asked.quick else Effort()
    model = asked.model or ("tiny" if asked.quick else "random")
    rig = make_rig(model, device, getattr(torch, asked.dtype), effort)
    rig.arm("graph")  # captured before NCCL starts threads
    dist.init_process_group("nccl" if on_cuda else "gloo")
    try:
        with torch.inference_mode():
            found = measure(rig, 1 if asked.quick else asked.repeats)
        if dist.get_rank() == 0:
            print(json.dumps(found, indent=1), flush=True)
            if asked.output:
                asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    finally:
        dist.destroy_process_group()
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
