#!/bin/bash
# x4.sh PART [TINY]: parts setup, start, deepseek, parallel, lines, kills, ray. TINY: on a CPU, tiny, to try it here.
# Each run has a time limit of its own and each part a deadline; nothing stops the parts after it.
PART=$1; TINY=$2; HERE=$(cd "$(dirname "$0")" && pwd); TREE=${TREE:-/tmp/tree}; OUT=${OUT:-/tmp/out}; mkdir -p "$OUT" /tmp/x4
LOG=$OUT/x4.jsonl; PY=${PY:-python3}; cd "$TREE" || exit; BEGAN=$SECONDS
export PYTHONUNBUFFERED=1 X4_TMP=/tmp/x4 HF_HUB_OFFLINE=1
DS=/tmp/ds; PAGES=${PAGES:-250}; GPUS="1 2 4"; LIMIT=130
# 759 tokens a page: random weights repeat themselves and would be stopped early otherwise
SETS="--set decode.max_tokens=1900 --set decode.loop.tokens=0 --set decode.pdf.size=0 --set ladder.rungs=[] --set text_layer=ignore"
DOCS="tests/samples/report.pdf tests/samples/scanned.pdf"
if [ -n "$TINY" ]; then DS=/tmp/dst; PAGES=6; GPUS="1 2"; LIMIT=200; SETS="--set device=cpu --set decode.max_tokens=160 --set ladder.rungs=[] --set text_layer=ignore"; fi
passed() { echo $((SECONDS - BEGAN)); }
one() { echo "-- $* at $(passed) s"; timeout -k 5 $LIMIT $PY $HERE/x4_run.py $LOG "$@" 2>$OUT/last.err || tail -3 $OUT/last.err; }
setup() {
  nvidia-smi --query-gpu=name,memory.total --format=csv,noheader; nproc; free -g | sed -n 2p
  [ -n "$TINY" ] || $PY $HERE/probe.py || echo "PROBE FAILED: forked workers cannot use the GPU"
  if [ ! -e $DS ]; then
    if [ -n "$TINY" ]; then $PY -m tests.benchmarks.runs.families.random_checkpoints deepseek-ocr $DS $DS.json --scale tiny --device cpu
    else timeout 120 $PY -m tests.benchmarks.runs.families.random_checkpoints deepseek-ocr $DS $DS.json --device cuda; fi; cat $DS.json; echo
  fi
  $PY - $HERE/manuals ${TINY:+8} <<'P'
import glob, os, sys
from concurrent.futures import ProcessPoolExecutor
import pymupdf
most = int(sys.argv[2]) if len(sys.argv) > 2 else 600
os.makedirs("/tmp/pictures", exist_ok=True)
work = [(f, n) for f in sorted(glob.glob(sys.argv[1] + "/*.pdf")) for n in range(pymupdf.open(f).page_count)]
work = work[:: max(1, len(work) // most)][:most]
def draw(job):
    f, n = job
    pix = pymupdf.open(f)[n].get_pixmap(dpi=200, colorspace=pymupdf.csGRAY)
    pix.save(f"/tmp/pictures/{os.path.basename(f)[:8]}-{n:04}.png")
with ProcessPoolExecutor(min(48, os.cpu_count())) as pool:
    list(pool.map(draw, work, chunksize=4))
whole = pymupdf.open()
for f in sorted(glob.glob(sys.argv[1] + "/*.pdf")):
    whole.insert_pdf(pymupdf.open(f))
whole.select(range(min(200 if most > 8 else 6, whole.page_count)))
whole.save("/tmp/long.pdf")
print(len(os.listdir("/tmp/pictures")), "pictures", whole.page_count, "pages in one document")
P
  echo "setup: $(passed) s"
}
start() {  # where a start goes: each worker's threads, sampled
  for w in $([ -n "$TINY" ] && echo 2 || echo "${START:-4}"); do
    rm -rf /tmp/tr; STARTTRACE=/tmp/tr PYTHONPATH=$HERE/trace:$PYTHONPATH one "start traced" --workers $w --pages $((w * 24)) --model $DS $SETS $DOCS
    $PY $HERE/trace/show.py /tmp/tr 0.25 > $OUT/start_$w.txt 2>&1; head -c 4000 $OUT/start_$w.txt
  done
}
deepseek() {
  for round in 1 2 3; do for w in $([ -n "$TINY" ] && echo "1 2" || ([ $round = 1 ] && echo "4 1" || echo "4 1 2")); do
    [ $(passed) -gt ${DEEPSEEK_S:-490} ] && echo "no time for $w in round $round" && continue
    one "deepseek $round" --workers $w --pages $((w * PAGES)) --model $DS $SETS $DOCS
  done; [ -n "$TINY" ] && break; done
}
parallel() {
  for round in 1 2; do for n in $([ -n "$TINY" ] && echo 1 || echo "1 4 2"); do
    [ $(passed) -gt ${PARALLEL_S:-500} ] && echo "no time for $n" && continue
    one "encoder_parallel $n, $round" --workers 1 --tokens 50 --model $DS ${TINY:+--set device=cpu} --set cluster.encoder_parallel=$n --set text_layer=ignore /tmp/long.pdf
    [ -z "$TINY" ] && [ $n = 4 ] && [ $round = 1 ] && one "encoder_parallel $n, graphs on" --workers 1 --tokens 50 --model $DS --set encoder.graphs=on --set cluster.encoder_parallel=$n --set text_layer=ignore /tmp/long.pdf
  done; [ -n "$TINY" ] && break; done
}
lines() {
  for round in 1 2; do for g in 4 1; do
    [ $(passed) -gt ${LINES_S:-400} ] && echo "no time for $g" && continue
    if [ -n "$TINY" ]; then one "default reader" --lines --set device=cpu /tmp/pictures; break 2; fi
    CUDA_VISIBLE_DEVICES=$(seq -s, 0 $((g - 1))) one "default reader, $g GPUs, $round" --lines /tmp/pictures
  done; done
}
kills() {
  for k in 1 2; do
    one "kill $k" --workers $([ -n "$TINY" ] && echo 2 || echo 4) --kill $([ -n "$TINY" ] && echo 1 || echo $k) --pages $((4 * PAGES)) --model $DS $SETS $DOCS
    [ -n "$TINY" ] && break
  done
  # The process with the database: killed in the middle, then run again to the end.
  rm -rf /tmp/kp /tmp/kp.db*; mkdir -p /tmp/kp; $PY -c "
import sys
from pathlib import Path
from pipeline.bench.real_pages import copy_pages
copy_pages(sys.argv[2:], int(sys.argv[1]), Path('/tmp/kp'))" $((4 * PAGES)) $DOCS
  RUN="$PY -m pipeline.cli run /tmp/kp --db /tmp/kp.db --workers $([ -n "$TINY" ] && echo 2 || echo 4) --set model=$DS --set reader=page $SETS"
  $RUN >/tmp/kp1.log 2>&1 & PID=$!
  cat > /tmp/kp.py <<'P'
import glob, sqlite3, sys
if sys.argv[1] == "read":
    print(sqlite3.connect("file:/tmp/kp.db?mode=ro", uri=True).execute("SELECT count(*) FROM pages WHERE status<>'blank'").fetchone()[0])
else:
    num = 0
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            num += any(word in open(path).read() for word in ("forkserver", "multiprocessing", "/tmp/kp.db"))
        except OSError:
            pass
    print(num)
P
  for i in $(seq 1 $LIMIT); do N=$($PY /tmp/kp.py read 2>/dev/null); [ "${N:-0}" -gt $((PAGES * 4 / 6)) ] && break; kill -0 $PID 2>/dev/null || break; sleep 0.5; done
  DURING=$($PY /tmp/kp.py processes); kill -9 $PID; sleep 4; BEFORE=$($PY /tmp/kp.py read); ORPHANS="$DURING $($PY /tmp/kp.py processes)"
  timeout -k 5 $LIMIT $RUN >/tmp/kp2.log 2>&1; CODE=$?
  $PY - "$BEFORE" "$ORPHANS" $CODE >> $LOG <<'P'
import json, sqlite3, sys
db = sqlite3.connect("/tmp/kp.db"); one = lambda sql: db.execute(sql).fetchone()[0]
print(json.dumps({"name": "kill of the run", "read_before": int(sys.argv[1] or 0), "processes_before_and_4_s_later": sys.argv[2], "exit_code": int(sys.argv[3]),
  "rows": one("SELECT count(*) FROM pages"), "read_more_than_once": one("SELECT count(*) FROM (SELECT page_id FROM attempts GROUP BY page_id HAVING count(*) > 1)"),
  "attempts": one("SELECT count(*) FROM attempts"), "in_flight": one("SELECT count(*) FROM in_flight"), "integrity": one("PRAGMA integrity_check")}))
P
  tail -1 $LOG
}
ray() {
  $PY -m ray.scripts.scripts start --head --num-gpus $(nvidia-smi -L 2>/dev/null | wc -l) --include-dashboard false --disable-usage-stats 2>&1 | tail -2
  for round in 1 2; do [ $(passed) -gt ${RAY_S:-110} ] && continue; one "ray $round" --workers $([ -n "$TINY" ] && echo 1 || echo 4) --set cluster.address=auto --pages $((4 * PAGES)) --model $DS $SETS $DOCS; done
  $PY -m ray.scripts.scripts stop --force 2>&1 | tail -1
}
for part in ${PART//,/ }; do $part; echo "== $part ended at $(passed) s"; done
