"""Times a start: digest and weights of a checkpoint at full size, and a command until its first page is done.

    python -m tests.benchmarks.runs.startup_figures write FOLDER [--device cuda] [--layers 12]
    python -m tests.benchmarks.runs.startup_figures load FOLDER [--device cuda]
    python -m tests.benchmarks.runs.startup_figures page [--device cuda] [--model FOLDER] [--runs 2]
    python -m tests.benchmarks.runs.startup_figures starts [--device cuda] [--runs 100] [--at-once 8]

`write` makes a checkpoint of random weights, 6.7 GB in bfloat16; `load` loads it both ways, mapped tensor by tensor and
streamed. `page` runs the command line on one letter, with a model of random weights for about 100 tokens. `starts` does
so again and again with the page model, several at once, and counts those that fail. One JSON line for each figure.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LETTER = Path(__file__).parents[2] / "samples" / "letter.png"
_VISION_TOKENS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["write", "load", "page", "starts"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--model", default="small")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=8)
    arguments = parser.parse_args()
    if arguments.what == "write":
        started = time.perf_counter()
        write_random(arguments.folder, arguments.device, arguments.layers)
        say(what="write", seconds=time.perf_counter() - started)
    elif arguments.what == "load":
        measure_load(arguments.folder, arguments.device)
    elif arguments.what == "starts":
        count_starts(arguments.device, arguments.runs, arguments.at_once)
    else:
        for _ in range(arguments.runs):
            say(**first_page(arguments.model, arguments.device))


def measure_load(folder: Path, device: str) -> None:
    import torch

    from ocr.checkpoints import checkpoint, model_weights
    from ocr.model_files.locate import digest

    for what in ("digest", "digest, remembered if the file is older than 10 s"):
        started = time.perf_counter()
        digest(folder)
        say(what=what, seconds=time.perf_counter() - started)
    if device == "cuda":
        torch.zeros(1, device=device)
    checkpoint.digest = lambda files: ""  # timed above
    streamed = model_weights._stream
    ways = [("mapped", model_weights._convert)]
    if device == "cuda":
        ways = [("streamed", streamed), *ways, ("streamed", streamed)]
    for what, how in ways:
        model_weights._stream = how
        started = time.perf_counter()
        loaded = checkpoint.load(str(folder), device=device, dtype=torch.bfloat16)
        if device == "cuda":
            torch.cuda.synchronize()
        say(
            what=f"load, {what}",
            seconds=time.perf_counter() - started,
            checksum=sum(float(its.double().sum()) for its in loaded.model.parameters()),
            host_anon_mb=_status_mb("RssAnon"),
            host_peak_mb=_status_mb("VmHWM"),
            gpu_peak_gb=torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None,
        )
        del loaded


def write_random(folder: Path, device: str, layers: int) -> None:
    import torch

    from ocr.checkpoints import checkpoint
    from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig, OcrModel
    from ocr.model.random_weights import redraw
    from ocr.model_files.locate import find_directory, read_tokenizer

    config = OcrConfig(language=LanguageConfig(num_hidden_layers=layers))
    with torch.device("meta"):
        model = OcrModel.from_config(config).to(torch.bfloat16)
    model.to_empty(device=device)
    redraw(model)
    tokenizer = read_tokenizer(find_directory("small") / "tokenizer.json")
    checkpoint.save(model, folder, tokenizer=tokenizer)


def first_page(model: str, device: str, *options: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pipeline.cli", "run", str(LETTER), "-v", "--model", model]
        command += ["--device", device, "--db", f"{folder}/results.db", *options]
        if model != "small":
            command += ["--set", f"decode.max_tokens={_VISION_TOKENS + 100}"]
        started = time.perf_counter()
        said, starts = [], {}
        with subprocess.Popen(
            command,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        ) as running:
            assert running.stdout is not None
            for line in running.stdout:
                said.append(line.rstrip())
                if found := re.search(r"model loaded in ([\d.]+) s", line):  # and given the first page
                    starts = {
                        "first_page_starts_s": time.perf_counter() - started,
                        "cpu_s_until_then": cpu_s(running.pid),
                        "load_s": float(found[1]),
                    }
        seconds = time.perf_counter() - started
    return {
        "what": f"command with one page, model {model}",
        "seconds": seconds,
        **starts,
        "exit_code": running.returncode,
        "said": said[-12:],
    }


def count_starts(device: str, runs: int, at_once: int) -> None:
    """Prints each start as it ends, a failed one with the end of what it said, and then how many failed.

    Every other one has the model in two processes; few pages at once, so that all have room on one GPU: a process takes
    6 GB of it.
    """

    def start(number: int) -> dict[str, object]:
        keys = ("reader=page", "decode.batch_size=16", f"run.replicas={1 + number % 2}")
        made = first_page("small", device, *(word for key in keys for word in ("--set", key)))
        say(start=number, seconds=made["seconds"], said=made["said"] if made["exit_code"] else "ok")
        return made

    with ThreadPoolExecutor(at_once) as together:
        made = list(together.map(start, range(runs)))
    failed = sum(run["exit_code"] != 0 for run in made)
    seconds = statistics.median(float(str(run["seconds"])) for run in made)
    say(what="starts", runs=runs, failed=failed, seconds_median=seconds)


def cpu_s(pid: int) -> float:
    """Returns a process's seconds of CPU time so far, without its workers'."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def say(**figures: object) -> None:
    print(json.dumps(figures), flush=True)


def _status_mb(key: str) -> int | None:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key):
            return int(line.split()[1]) >> 10
    return None


if __name__ == "__main__":
    main()
