#!/usr/bin/env bash
# Runs the fuzz targets: tests/fuzz/run.sh [SECONDS_PER_TARGET] [TARGET...]
#
# Without arguments each target runs for a minute. Nothing in the tree is written: each run works on a copy of the kept corpus
# below target/fuzz-runs, and what it found there stays for the next run. Needs a C++ compiler; cargo-fuzz is installed below
# target/ci where it is missing. Any toolchain from 1.95 on will do, nightly or not.
#
#   SEED=1           the first number of the run; RANDOM_SEED=1 draws one, and says which
#   JOBS=2           targets that run at the same time
#   SANITIZER=none   address finds nothing in safe code and makes it half as fast; see README.md
#   FRESH=1          forgets what earlier runs found beyond the kept corpus
#
# Exit code: 0 nothing was found; 1 something was, with the input's place and how to run it again; 2 could not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || {
  echo "usage: tests/fuzz/run.sh [SECONDS_PER_TARGET] [TARGET...]" >&2
  exit 2
}
shift || true
all=(line arguments canonical query import database)
targets=("$@")
(($# > 0)) || targets=("${all[@]}")
seed=${SEED:-1}
[[ ${RANDOM_SEED:-} != 1 ]] || seed=$((RANDOM * 32768 + RANDOM + 1))
sanitizer=${SANITIZER:-none}
tools=$root/target/ci
built=$root/target/fuzz
runs=$root/target/fuzz-runs
mkdir -p "$tools" "$runs"
export PATH=$tools/bin:$PATH CARGO_TERM_COLOR=never
# A sanitizer is a flag that only nightly takes by itself.
export RUSTC_BOOTSTRAP=1

if ! [[ -x $tools/bin/cargo-fuzz ]]; then
  # A debug build is ready in a fraction of the time: it only starts cargo and the targets.
  CARGO_TARGET_DIR=$tools/cargo-fuzz cargo install --quiet --locked --debug --version 0.13.2 --root "$tools" cargo-fuzz || exit 2
fi
started=$SECONDS
cargo fuzz build --fuzz-dir tests/fuzz --target-dir "$built" --sanitizer "$sanitizer" || exit 2
echo "built in $((SECONDS - started)) s; seed $seed, $seconds s a target"
host=$(rustc -vV | sed -n 's/^host: //p')

# Databases are made and thrown away many times a second: in memory, where there is a file system in memory.
memory=/dev/shm
[[ -d $memory && -w $memory ]] || memory=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$memory/handoff-memory-fuzz.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# Keeps those of the inputs called slow that take more than a second of a processor by themselves: on a machine that has other
# work, a clock on the wall says little.
slow() {
  local target=$1 input took TIMEFORMAT='%U %S'
  for input in "$runs/$target/found"/slow-unit-*; do
    [[ -f $input ]] || continue
    took=$({ time TMPDIR=$scratch/$target "$built/$host/release/$target" "$input" >/dev/null 2>&1 || true; } 2>&1)
    awk '{ exit !($1 + $2 > 1) }' <<<"$took" || rm "$input"
  done
}

run() {
  local target=$1 kept=$root/tests/fuzz/corpus/$1 here=$runs/$1 status=0
  [[ ${FRESH:-} != 1 ]] || rm -rf "$here"
  rm -rf "$here/found"
  mkdir -p "$here/corpus" "$here/found" "$kept" "$scratch/$target"
  local flags=(-seed="$seed" -max_total_time="$seconds" -timeout=60 -report_slow_units=1 -rss_limit_mb=2048
    -artifact_prefix="$here/found/" -print_final_stats=1)
  [[ $target != import ]] || flags+=(-max_len=65536)
  local dictionary=$root/tests/fuzz/dictionaries/$target
  [[ ! -f $dictionary ]] || flags+=(-dict="$dictionary")
  # What the first folder lacks of the second is written to the first, so the kept corpus stays as it is.
  TMPDIR=$scratch/$target "$built/$host/release/$target" "${flags[@]}" "$here/corpus" "$kept" >"$here/log" 2>&1 || status=$?
  slow "$target"
  rm -rf "${scratch:?}/$target"
  local runs edges
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$here/log")
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$here/log" | tail -n 1)
  printf '%-10s %10s executions, %6s edges covered, %5s inputs\n' "$target" "${runs:-?}" "${edges:-?}" \
    "$(find "$here/corpus" "$kept" -type f | wc -l)"
  if ((status != 0)) || [[ -n $(ls -A "$here/found") ]]; then
    grep -aE 'panicked at|ERROR: libFuzzer|Slowest|BUG' -A 3 "$here/log" | head -n 20 || tail -n 20 "$here/log"
    find "$here/found" -type f -exec printf 'found: %s\n' {} \;
    echo "again: TMPDIR=$memory $built/$host/release/$target INPUT"
    return 1
  fi
}

failed=0
running=()
finish() {
  wait "${running[0]}" || failed=1
  running=("${running[@]:1}")
}
for target in "${targets[@]}"; do
  ((${#running[@]} < ${JOBS:-2})) || finish
  run "$target" &
  running+=($!)
done
while ((${#running[@]} > 0)); do finish; done
exit $failed
