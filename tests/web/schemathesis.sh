#!/usr/bin/env bash
# Asks the server's REST whatever its description allows, and what it does not, with schemathesis: no answer may be another
# one than is described, or a failure of the server; as root, as a member and as an observer. Then the store is verified.
# usage: schemathesis.sh PATH_TO_BINARY FOLDER_FOR_TOOLS
# EXAMPLES (25) and SEED (1) in the environment make a run by hand longer, or another one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=$(realpath "$1")
mkdir -p "$2"
tools=$(realpath "$2")
examples=${EXAMPLES:-25}
seed=${SEED:-1}
RANDOM=$seed

folder=$(mktemp -d)
# shellcheck source=tests/web/serving.sh
source "$here/serving.sh"
trap leave EXIT

[[ -x $tools/bin/python ]] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check schemathesis==4.32.5

export MEMORY_DB=$folder/memory.db HOME=$folder RUST_LOG=error PYTHONDONTWRITEBYTECODE=1
# It reads its settings, and the hooks that they name, from the current folder.
cp "$here/schemathesis.toml" "$here/hooks.py" "$folder"
cd "$folder"

# Acts at the command line: for an owner, as an agent, in a session.
as() {
  local owner=$1 agent=$2 session=$3
  shift 3
  "$binary" --owner "$owner" --agent "$agent" --session "$session" "$@" 2>>"$folder/warnings"
}

# Writes a packet, and adds its id to those of this list.
packet() {
  local list=$1 said
  shift
  said=$(as "$@" --summary "Where things stand." --next-steps "Go on." --json)
  [[ $said =~ h_[0-9a-f]{16} ]] || fail "no packet in: $said"
  id=${BASH_REMATCH[0]}
  echo "\"$id\"" >>"$list"
}

# Records and packets in every state, of the owner that the tokens act for and of another one.
fill() {
  local id scope key state number
  rm -f packets.txt own.txt
  for scope in app app/auth; do
    for key in plan login; do
      as ann scout s-0 remember --scope "$scope" --key "$key" --value "{\"fit\":$RANDOM,\"note\":\"draft ä\"}" --tags draft >/dev/null
      as ann codex s-1 remember --scope "$scope" --key "$key" --text "a shared plan $RANDOM" --confidence 0.9 >/dev/null
    done
    as ann codex s-1 record_outcome --outcome success --outcome-ref "run-$scope" --refs "$scope:plan@1" >/dev/null
  done
  as ann codex s-1 record_outcome --outcome failure --outcome-ref run-2 --refs app:login@2 >/dev/null
  as ann scout s-0 --project side remember --scope app --key plan --value 1 >/dev/null
  for state in open open open accepted accepted closed released cancelled expired; do
    packet packets.txt ann scout s-0 handoff --title "shared $state $RANDOM" --refs app:plan --refs app:login@1 --expires-in 7d
    case $state in
      accepted | closed | released) as ann codex s-1 handoffs accept "$id" >/dev/null ;;&
      closed) as ann codex s-1 record_outcome --outcome success --outcome-ref run-3 --handoff-id "$id" >/dev/null ;;
      released) as ann codex s-1 handoffs release "$id" >/dev/null ;;
      cancelled) as ann scout s-0 handoffs cancel "$id" >/dev/null ;;
      expired) as ann scout s-0 handoffs expire "$id" >/dev/null ;;
    esac
  done
  packet packets.txt ann scout s-0 handoff --title "for one" --to-agent codex
  # Whatever waits is soon taken, and cannot be taken back any more: these wait for an agent that never comes.
  for number in {1..8}; do
    packet own.txt ann codex s-1 handoff --title "own work $number $RANDOM" --to-agent archivist
  done
  packet packets.txt bob scout s-9 handoff --title "of another owner"
  packet packets.txt ann scout s-0 --project side handoff --title "elsewhere"
}

# What was answered, and how often, from the server's own numbers. Each of these operations must have gone well at least once:
# a run that reaches nothing proves nothing.
reached() {
  "$tools/bin/python" - "$url" "$1" "$2" <<'PY'
import collections, re, sys, urllib.request, json
url, token, methods = sys.argv[1], sys.argv[2], sys.argv[3].split()

def get(path):
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})
    return urllib.request.urlopen(request).read().decode()

answers = collections.defaultdict(dict)
for method, route, status, count in re.findall(
    r'request_seconds_count\{method="(\w+)",route="([^"]*)",status="(\d+)"\} (\d+)', get("/metrics")
):
    answers[method, route][status] = int(count)
missed = []
for path, operations in json.loads(get("/openapi.json"))["paths"].items():
    for method, operation in operations.items():
        got = answers[method.upper(), path]
        print(f"  {operation['operationId']:16}", *(f"{status}: {count}" for status, count in sorted(got.items())), sep="  ")
        if method in methods and not any(status.startswith("2") for status in got):
            missed.append(operation["operationId"])
if missed:
    sys.exit(f"never went well: {', '.join(missed)}")
PY
}

run() {
  "$tools/bin/schemathesis" run "$url/openapi.json" -H "Authorization: Bearer $token" --seed "$seed" --no-color "$@" \
    >said 2>&1 || {
    cat said
    fail "what was answered to $role is not what is described"
  }
  grep -E '^  [0-9]+ generated' said
}

# Asks as the bearer of a token; the methods are those with which it may succeed.
ask() {
  local role=$1 methods=$2 token before
  shift 2
  token=$("$binary" token create "$@" 2>>"$folder/warnings")
  fill
  before=$("$binary" checkpoint)
  serve --rate-limit 0
  echo "as $role:"
  run --max-examples "$examples"
  # The ledger once more, as a stream: where nothing comes it would wait for ever, so each time it waits for a second.
  run --max-examples 12 --include-operation-id ledger --phases examples,coverage,fuzzing --request-timeout 1 \
    -H "Accept: text/event-stream"
  reached "$watcher" "$methods"
  stop
  [[ $methods == *post* || $("$binary" checkpoint) == "$before" ]] || fail "$role changed the store"
  "$binary" verify >said || {
    cat said
    fail "the store does not verify after what $role asked"
  }
}

watcher=$("$binary" --agent watcher token create --root 2>>"$folder/warnings")
# All of the same name, so that what a request says of its agent may be true.
ask "root" "get post" --root --owner ann --agent codex
ask "a member" "get post" --owner ann --agent codex
ask "an observer" "get" --observer --agent codex
echo "schemathesis: everything was answered as it is described"
