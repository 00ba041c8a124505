#!/usr/bin/env bash
# leg.sh MINUTES WORKERS OUT: from the repository root; the arms of the vision trial on one GPU
set -u
minutes=$1; workers=$2; out=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"; out=$(cd "$out" && pwd)
work=$(mktemp -d)
# Last, so that what is installed comes first: PyYAML without its C part, and a stand-in where ONNX Runtime is missing.
export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$PWD:$here/site" OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
tar xJf "$here/corpus.tar.xz" -C "$work"
[ -f "$here/real.tar" ] && tar xf "$here/real.tar" -C "$work"
python3 "$here/vision_trial.py" leg "$work/pages" --data "$work/corpus" --results "$out" \
    --minutes "$minutes" --workers "$workers" "${@:4}" >"$out/leg.log" 2>&1
rc=$?
[ -f "$work/pages/tokens.pickle" ] && ls -la "$work/pages" >>"$out/leg.log"
rm -rf "$work"
exit $rc
