#!/usr/bin/env bash
# Asks the server thousands of questions made from its own description, good ones and bad ones, as root, as a member and as an
# observer: no server error, no status and no answer that the description does not name. Arguments: the program, a folder for
# what is installed; MAX_EXAMPLES for more than the usual questions.
set -euo pipefail
binary=$(realpath "$1")
mkdir -p "$2"
tools=$(realpath "$2")
[[ -x $tools/bin/python ]] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check schemathesis==4.32.5

place=$(mktemp -d)
server=
# Whatever happens, nothing is left running.
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$place"' EXIT
export MEMORY_DB=$place/memory.db RUST_LOG=off
cd "$place"

as() {
  local agent=$1
  shift
  AGENT_ID=$agent SESSION_ID=$agent-1 "$binary" "$@" >/dev/null 2>&1
}
as scout remember --scope app/billing --key rate --value '{"rate":0.19}' --tags billing
as claude remember --scope app/billing --key rate --value '{"rate":0.21}' --tags billing
as scout handoffs create --title "One" --summary "waits" --next-steps "go on"
as scout handoffs create --title "Two" --summary "is taken" --next-steps "go on"
as codex resume
as codex record_outcome --outcome success --outcome-ref run-1 --refs app/billing:rate@1
root=$("$binary" --agent root token create --root 2>/dev/null)
member=$("$binary" --owner ann token create 2>/dev/null)
observer=$("$binary" token create --observer 2>/dev/null)
mkfifo told
"$binary" serve --json --listen 127.0.0.1:0 --rate-limit 0 >told &
server=$!
read -r line <told
url=$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["url"])' "$line")

checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance
checks+=,response_schema_conformance,unsupported_method,ignored_auth
# Arguments are read leniently by design, so that what a schema does not allow may still be taken.
for token in "$root" "$member" "$observer"; do
  "$tools/bin/schemathesis" --no-color run "$url/openapi.json" --header "Authorization: Bearer $token" --checks "$checks" \
    --phases examples,coverage,fuzzing,stateful --max-examples "${MAX_EXAMPLES:-15}" --seed 1 --workers 2 \
    --request-timeout 30 --suppress-health-check all --continue-on-failure
done
kill "$server"
wait "$server"
server=
"$binary" verify
