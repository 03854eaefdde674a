#!/usr/bin/env bash
# Runs the demo: two agents, two processes, one memory. Needs cargo and bash, and nothing else.
#
#   demo/run.sh                    a memory of its own, removed afterwards
#   MEMORY_DB=my.db demo/run.sh    your memory, kept
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Cargo alone knows where its programs end up (CARGO_TARGET_DIR, build.target, a workspace above us), so it is
# asked: one JSON line for each thing built, on stdout, while compiler messages go to stderr as usual.
server='' scout='' executor=''
path_of='"executable":"(([^"\\]|\\.)*)"'
messages=$(cd "$root" && cargo build --bin handoff-memory --example scout --example executor \
  --message-format=json-render-diagnostics)
while IFS= read -r message; do
  [[ $message =~ $path_of ]] || continue
  # The path is a JSON string: a quote or a backslash in it is escaped.
  path=${BASH_REMATCH[1]//\\\"/\"}
  path=${path//\\\\/\\}
  case ${path##*[/\\]} in
    handoff-memory | handoff-memory.exe) server=$path ;;
    scout | scout.exe) scout=$path ;;
    executor | executor.exe) executor=$path ;;
  esac
done <<<"$messages"
if [[ -z $server || -z $scout || -z $executor ]]; then
  echo "demo/run.sh: cargo did not say where it put handoff-memory, scout and executor" >&2
  exit 1
fi

# This script names the server itself, and the server takes the variable for a misspelt one of its own.
unset HANDOFF_MEMORY_BIN

own=''
if [[ -z ${MEMORY_DB:-} ]]; then
  own=$(mktemp -d "${TMPDIR:-/tmp}/handoff-memory-demo.XXXXXX")
  trap 'rm -rf "$own"' EXIT
  export MEMORY_DB=$own/memory.db
elif [[ $MEMORY_DB != [/~]* ]]; then
  export MEMORY_DB=$PWD/$MEMORY_DB
fi

echo '$ scout'
"$scout" --server "$server"
echo
echo '$ executor'
"$executor" --server "$server"
echo
echo '$ handoff-memory verify'
"$server" verify

if [[ -n $own ]]; then
  printf '\nThe memory and both files are removed now. To keep them: MEMORY_DB=demo.db %q\n' "$0"
fi
