#!/usr/bin/env bash
# Drives the server's MCP over HTTP with the official conformance suite: each of its scenarios that a server can be asked
# without tools made for the suite, in each version of the protocol that the scenario is for.
# usage: conformance.sh PATH_TO_BINARY FOLDER_FOR_TOOLS
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=$(realpath "$1")
mkdir -p "$2"
tools=$(realpath "$2")
node=$tools/node_modules/.bin/node
scenarios=(
  server-initialize ping server-stateless tools-list resources-list prompts-list caching sep-2164-resource-not-found
  dns-rebinding-protection server-sse-multiple-streams server-session-lifecycle http-header-validation
)

folder=$(mktemp -d)
# shellcheck source=tests/web/serving.sh
source "$here/serving.sh"
trap leave EXIT

# The suite needs Node 22, which is seldom the one at hand.
(cd "$tools" && npm install --silent --no-audit --no-fund --no-package-lock --no-save \
  node@22.23.3 @modelcontextprotocol/conformance@0.2.0-alpha.12)
[[ $("$node" --version) == v22.* ]] || fail "there is no Node 22 below $tools"

export MEMORY_DB=$folder/memory.db HOME=$folder RUST_LOG=error

suite() {
  # It writes its results below the current folder.
  (cd "$folder" && "$node" "$tools/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@")
}

serve
known=$(suite list --server)

failed=0
for scenario in "${scenarios[@]}"; do
  [[ $known =~ "- $scenario ["([0-9,-]+)"]" ]] || fail "the suite knows no scenario $scenario"
  for version in ${BASH_REMATCH[1]//,/ }; do
    # It fails for a check that failed or warned though the baseline does not name it, and for one that passed though it does.
    outcome=passed
    suite server --url "$url/mcp" --scenario "$scenario" --spec-version "$version" --expected-failures "$here/conformance.yml" \
      >"$folder/said" 2>&1 || outcome=FAILED
    counted=$(sed -n 's/^Passed: //p' "$folder/said")
    # A run that was skipped or broke off counts nothing, whatever it ended with.
    [[ -n $counted ]] || outcome=FAILED
    [[ $outcome == FAILED || $counted == *" 0 failed, 0 warnings" ]] || outcome=expected
    printf '%-8s  %-27s  %s  %s\n' "$outcome" "$scenario" "$version" "$counted"
    if [[ $outcome == FAILED ]]; then
      failed=1
      sed 's/\x1b\[[0-9;]*m//g' "$folder/said"
    fi
  done
done
stop
((failed == 0)) || fail "not every scenario passed"
echo "conformance: every scenario passed, but for what is expected to fail"
