#!/usr/bin/env bash
# Walks the page in a headless Chromium, with and without scripts, and keeps pictures of it.
# Arguments: the program, a folder for what is installed, a folder for the pictures.
set -euo pipefail
binary=$(realpath "$1")
mkdir -p "$2" "$3"
tools=$(realpath "$2")
pictures=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cp "$here/package.json" "$here/walk.mjs" "$tools/"
(cd "$tools" && npm install --silent --no-audit --no-fund --no-package-lock)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)

folder=$(mktemp -d)
# shellcheck source=tests/web/serving.sh
source "$here/serving.sh"
trap leave EXIT
export MEMORY_DB=$folder/memory.db RUST_LOG=off HOME=$folder
cd "$folder"

as() {
  local agent=$1
  shift
  AGENT_ID=$agent SESSION_ID=$agent-1 "$binary" "$@" >/dev/null 2>&1
}
as scout remember --scope app/billing --key rate --value '{"currency":"EUR","rate":0.19,"rules":["b2b","b2c"]}' --tags billing
as scout remember --scope app/billing --key vat --value '"19 % since 2021"' --tags billing --confidence 0.9
as scout remember --scope app/auth --key decision --value '"Sessions live in the database.\nTokens rotate."' --tags auth
as scout remember --scope odd --key '<img src=x onerror=alert(1)>' --value "\"</pre><script>alert(2)</script> \\u202e reversed\""
as scout handoffs create --title "Move billing to the new rates" --summary "The table is written, the service reads the old one." \
  --next-steps "Switch the service" --next-steps "Tell finance" --open-questions "Do refunds use the old rate?" \
  --files-touched src/billing/rates.rs --to-agent codex
as claude remember --scope app/billing --key rate --value '{"currency":"EUR","rate":0.21,"rules":["b2b","b2c","oss"]}' --tags billing
as codex record_outcome --outcome success --outcome-ref run-1 --refs app/billing:rate@1
as codex record_outcome --outcome failure --outcome-ref run-2 --refs app/billing:rate@2
as claude handoffs create --title '<script>alert(3)</script> & "quotes"' --summary '<img src=x onerror=alert(4)>' --next-steps "look"
as scout handoffs create --title "Nightly clean-up" --summary "mostly done" --next-steps "finish"
root=$("$binary" --owner ann --agent ann token create --root 2>/dev/null)
observer=$("$binary" token create --observer 2>/dev/null)

serve --rate-limit 0
BINARY=$binary CHROMIUM=$chromium PICTURES=$pictures ROOT_TOKEN=$root OBSERVER_TOKEN=$observer URL=$url \
  timeout 300 node "$tools/walk.mjs"
stop
"$binary" verify
