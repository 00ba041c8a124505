"""One run over N workers, measured from its own process: a JSON line to OUT and to stdout.

python x4_run.py OUT.jsonl NAME --workers 4 --pages 1200 --model /tmp/ds --set ... [--kill 2] [--tokens 50] DOCUMENTS
"""

import argparse
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path


def process_began():
    with open("/proc/self/stat") as stat:
        ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime") as up:
        return time.perf_counter() - (float(up.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK"))


BEGAN = process_began()


class Load(threading.Thread):
    """Samples the host and its GPUs four times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.samples, self.ended = [], threading.Event()
        try:
            import pynvml

            pynvml.nvmlInit()
            self.nvml = pynvml
            self.cards = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        except Exception:
            self.nvml, self.cards = None, []

    @staticmethod
    def cpu():
        with open("/proc/stat") as stat:
            words = [int(word) for word in stat.readline().split()[1:9]]
        return sum(words), words[3] + words[4]

    def run(self):
        before = self.cpu()
        while not self.ended.wait(0.25):
            now = self.cpu()
            busy = 1 - (now[1] - before[1]) / max(1, now[0] - before[0])
            before = now
            try:
                cards = [(self.nvml.nvmlDeviceGetUtilizationRates(c).gpu / 100, self.nvml.nvmlDeviceGetMemoryInfo(c).used >> 20) for c in self.cards]
            except Exception:
                cards = []
            memory = {line.split(":")[0]: int(line.split()[1]) >> 10 for line in open("/proc/meminfo") if line.startswith(("MemTotal", "MemAvail"))}
            self.samples.append((time.perf_counter(), busy, memory["MemTotal"] - memory["MemAvailable"], cards))

    def since(self, at):
        some = [s for s in self.samples if s[0] >= at]
        if not some:
            return {}
        found = {"host_busy": round(statistics.mean(s[1] for s in some), 3), "cpus": os.cpu_count(), "host_mib": max(s[2] for s in some)}
        if some[0][3]:
            found["gpu_busy"] = [round(statistics.mean(s[3][i][0] for s in some), 3) for i in range(len(some[0][3]))]
            found["gpu_mib"] = [max(s[3][i][1] for s in some) for i in range(len(some[0][3]))]
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("name")
    parser.add_argument("documents", nargs="+")
    parser.add_argument("--workers", default="1")
    parser.add_argument("--pages", type=int)
    parser.add_argument("--model", default="small")
    parser.add_argument("--set", dest="sets", action="append", default=[])
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--lines", action="store_true", help="the default reader")
    asked = parser.parse_args()
    line = {"name": asked.name, "workers": asked.workers, "pages": asked.pages}
    try:
        line |= measured(asked)
    except BaseException as error:
        line["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        import traceback

        traceback.print_exc()
    text = json.dumps(line)
    with open(asked.out, "a") as out:
        out.write(text + "\n")
    print(text, flush=True)


def measured(asked):
    from pipeline.bench.host_meter import HostMeter
    from pipeline.bench.real_pages import copy_pages
    from pipeline.bench.whole_run.subject import Subject, bench_config
    from pipeline.bench.whole_run.track import PageTrack
    from pipeline.cluster import choose
    from pipeline.cluster.request_handler import RequestHandler
    from pipeline.config import sources
    from pipeline.device.gpu_meter import GpuMeter
    from pipeline.stages.store import store_first, store_page
    from pipeline.stop import Stop

    events = {}  # of each worker: moments, counted from the process's beginning
    counts = {}

    def note(worker, what):
        events.setdefault(worker, {}).setdefault(what, round(time.perf_counter() - BEGAN, 2))

    real = {name: getattr(RequestHandler, name) for name in ("started", "loaded", "call", "lost", "take")}

    async def started(self, worker, *args):
        note(worker, "started")
        return await real["started"](self, worker, *args)

    async def loaded(self, worker, on):
        note(worker, "loaded")
        return await real["loaded"](self, worker, on)

    async def call(self, worker, task, *args, **kwargs):
        found = await real["call"](self, worker, task, *args, **kwargs)
        if task is store_page:
            status = args[2].status if len(args) > 2 else "?"
            note(worker, "first_blank" if status == "blank" else "first_page")
            counts[worker] = counts.get(worker, 0) + 1
        return found

    async def lost(self, worker):
        num = await real["lost"](self, worker)
        events.setdefault(worker, {})["lost_with_pages"] = num
        note(worker, "lost")
        return num

    RequestHandler.started, RequestHandler.loaded, RequestHandler.call, RequestHandler.lost = started, loaded, call, lost
    with tempfile.TemporaryDirectory(prefix="x4-", dir=os.environ.get("X4_TMP")) as name, ExitStack() as closing_:
        folder = Path(name)
        paths = asked.documents
        if asked.pages is not None:
            (folder / "pages").mkdir()
            copy_pages(paths, asked.pages, folder / "pages")
            paths = [str(folder / "pages")]
        database = folder / "results.db"
        sets = [*asked.sets, f"cluster.workers={asked.workers}"]
        subject = None
        if asked.lines:
            config = sources.load(None, sets, [("x4", {"ingest": {"paths": paths}, "store": {"database": str(database)}})])
        else:
            subject = Subject(asked.model, folder / "model")
            config = bench_config(subject, paths, database, output_tokens=asked.tokens, sets=sets)
        load = Load()
        load.start()
        began = time.perf_counter()
        host = closing_.enter_context(HostMeter())
        read = []

        class Track(PageTrack):
            def page_done(self, result):
                if result.status != "blank":
                    read.append(time.perf_counter())
                super().page_done(result)

        track = Track(host)
        workers = choose.backend(config)
        killed = []
        if asked.kill:
            threading.Thread(target=killing, args=(asked, workers, track, killed), daemon=True).start()
        moments = []
        if workers is None:
            from pipeline.run import runner

            def then(made):
                moments.append(time.perf_counter())

            if subject is None:
                summary = runner.run(config, track, Stop())
            else:
                summary = runner.run(config, track, Stop(), lambda c: subject.load_for_run(c, output_tokens=asked.tokens, then=then))
        else:
            from pipeline.cluster import cluster_run

            summary = cluster_run.run(workers, config, track, Stop(), when_loaded=lambda on: moments.append(on.loaded_at))
        ended = time.perf_counter()
        load.ended.set()
        loaded_at = min(moments, default=track.pages[0].at_s if track.pages else began)
        stored = [page.at_s for page in track.pages]
        after = [at for at in stored if at >= loaded_at]
        num = len(stored)
        tenth = stored[num // 10] if num > 20 else None
        found = {
            "num": num,
            "statuses": dict(track.statuses),
            "run_s": round(ended - began, 2),
            "copied_s": round(began - BEGAN, 2),
            "loaded_after_s": round(loaded_at - began, 2),
            "first_stored_s": round(stored[0] - began, 2) if stored else None,
            "first_read_s": round(read[0] - began, 2) if read else None,
            "pages_s_whole": round(num / (stored[-1] - began), 3) if stored else 0,
            "pages_s_since_loaded": round(len(after) / (stored[-1] - loaded_at), 3) if after and stored[-1] > loaded_at else 0,
            "pages_s_since_a_tenth": round((num - num // 10 - 1) / (stored[-1] - tenth), 3) if tenth and stored[-1] > tenth else None,
            "seconds_since_loaded": round(stored[-1] - loaded_at, 2) if stored else None,
            "tokens": summary.did.num_tokens,
            "worker_moments": {str(k): {w: round(v - (began - BEGAN), 2) if w not in ("lost_with_pages",) else v for w, v in its.items()} for k, its in events.items()},
            "worker_pages": counts,
            "stages": {s.name: [round(s.busy, 3), round(s.waiting_input, 3), round(s.waiting_output, 3)] for s in summary.stages},
            "load": load.since(loaded_at),
        }
        if asked.kill:
            found |= after_kill(database, killed, stored, began)
        return found


def killing(asked, workers, track, killed):
    """Kills workers once a seventh of the pages is stored, blank ones aside."""
    while sum(track.statuses.values()) - track.statuses["blank"] < (asked.pages or 100) // 7:
        time.sleep(0.02)
    for peer in workers.peers[: asked.kill]:
        killed.append((time.perf_counter(), peer._process.pid, len(track.pages)))
        os.kill(peer._process.pid, 9)


def after_kill(database, killed, stored, began):
    with closing(sqlite3.connect(database)) as db:
        one = lambda sql: db.execute(sql).fetchone()[0]  # noqa: E731
        at = killed[0][0] if killed else began
        gaps = [b - a for a, b in zip([at, *[s for s in stored if s > at]], [s for s in stored if s > at], strict=False)]
        return {
            "killed": [{"after_s": round(t - began, 2), "stored": n} for t, _, n in killed],
            "rows": one("SELECT count(*) FROM pages"),
            "distinct_rows": one("SELECT count(*) FROM (SELECT DISTINCT document_id, page_number FROM pages)") if has(db, "pages", "page_number") else None,
            "readings_more_than_once": one("SELECT count(*) FROM (SELECT page_id FROM attempts GROUP BY page_id HAVING count(*) > 1)"),
            "attempts": one("SELECT count(*) FROM attempts"),
            "in_flight_left": one("SELECT count(*) FROM in_flight"),
            "integrity": one("PRAGMA integrity_check"),
            "longest_gap_s": round(max(gaps, default=0), 2),
        }


def has(db, table, column):
    return any(row[1] == column for row in db.execute(f"PRAGMA table_info({table})"))


if __name__ == "__main__":
    main()
