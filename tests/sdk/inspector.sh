#!/usr/bin/env bash
# Drives all seven tools with the command line of the official Inspector.
# usage: inspector.sh PATH_TO_BINARY FOLDER_WITH_NODE_MODULES
set -euo pipefail

binary=$(realpath "$1")
inspector=$2/node_modules/.bin/mcp-inspector
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export MEMORY_DB=$folder/memory.db HOME=$folder RUST_LOG=error

fail() {
  echo "inspector: $1" >&2
  exit 1
}

# The Inspector hands its own environment on only where it is told to.
run() {
  local agent=$1
  shift
  "$inspector" --cli -e "MEMORY_DB=$MEMORY_DB" -e "AGENT_ID=$agent" -e RUST_LOG=error "$binary" "$@" </dev/null
}

tool() {
  local agent=$1 name=$2
  shift 2
  run "$agent" --method tools/call --tool-name "$name" "$@"
}

# Whether the answer holds a text, blanks apart. No pipe into `grep -q`: it ends early, and a long answer would then fail.
holds() {
  local compact=${1//[[:space:]]/}
  [[ $compact == *"$2"* ]] || fail "expected $2 in: $1"
}

# It warns that any JSON is taken as a value, which is meant; errors end it.
listed=$(run scout --method tools/list --strict 2>"$folder/strict") || fail "tools/list --strict: $(cat "$folder/strict")"
for name in handoff history memory_stats recall record_outcome remember resume; do
  holds "$listed" "\"name\":\"$name\""
done
holds "$(run scout --protocol-era modern --method tools/list)" '"name":"resume"'
holds "$(tool scout remember --tool-arg scope=listing key=l-482 'value={"fit":1}' confidence=0.8)" '"version":1'
holds "$(tool scout handoff --tool-arg title=Listings 'summary=One fits.' 'refs=[{"scope":"listing","key":"l-482"}]')" '"status":"current"'
tool scout remember --tool-arg scope=listing key=l-482 value=taken >/dev/null
resumed=$(tool executor resume)
holds "$resumed" '"status":"stale"'
[[ $resumed =~ h_[0-9a-f]{16} ]] || fail "no packet in: $resumed"
id=${BASH_REMATCH[0]}
holds "$(tool executor recall --tool-arg query=taken)" '"total":1'
holds "$(tool executor history --tool-arg scope=listing key=l-482)" '"total":2'
holds "$(tool executor record_outcome --tool-arg outcome=success outcome_ref=run-1 "handoff_id=$id")" '"state":"closed"'
holds "$(tool executor memory_stats --tool-arg verify=true)" '"ok":true'
wrong=0
tool executor recall --tool-arg scope=listing limit=0 >/dev/null 2>&1 || wrong=$?
((wrong == 5)) || fail "a wrong argument: the Inspector ended with $wrong, wanted 5 (an error answer)"
echo "inspector: all seven tools answer"
