"""python show.py FOLDER [LEAST_S]: what each worker's threads did at its start, as stretches by our innermost function."""

import glob
import json
import sys

least = float(sys.argv[2]) if len(sys.argv) > 2 else 0.3
zero = None
traces = []
for path in glob.glob(sys.argv[1] + "/*.json"):
    try:
        traces.append(json.load(open(path)))
    except ValueError:
        pass
traces.sort(key=lambda trace: trace["began"])
for trace in traces:
    zero = zero or trace["began"]
    names = {sample[1] for sample in trace["samples"]}
    if not names & {"model", "decoder"} and "cluster_run.py" not in " ".join(sample[2] for sample in trace["samples"]):
        continue
    print(f"## pid {trace['pid']}, began {trace['began'] - zero:.1f} s after the first")
    threads = {}
    for at, thread, label in trace["samples"]:
        threads.setdefault(thread, []).append((at, label.split(" > ")[0] + (" importing" + label.split(" importing")[1] if " importing" in label else "")))
    for thread, samples in threads.items():
        if thread.startswith("Thread-"):
            continue
        stretches = []
        for at, label in samples:
            if stretches and stretches[-1][2] == label:
                stretches[-1][1] = at
            else:
                stretches.append([at, at, label])
        # short ones between are left out
        shown = [f"{a:.1f}-{b:.1f} {label}" for a, b, label in stretches if b - a >= least]
        if shown:
            print(f"- {thread}: " + "; ".join(shown))
