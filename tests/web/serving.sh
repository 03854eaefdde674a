# Starts and stops a server for the scripts beside this one. They source it, and set `binary` and `folder`, a place for what
# it says; MEMORY_DB tells it which store to serve.

# What is set outside is about another store.
unset "${!MEMORY_@}" AGENT_ID SESSION_ID
server=

fail() {
  echo "${0##*/}: $1" >&2
  exit 1
}

# Serves on a free port, with these arguments more; `url` is then where, and `server` its process.
serve() {
  : >"$folder/told"
  "$binary" serve --json --listen 127.0.0.1:0 "$@" >"$folder/told" 2>"$folder/log" </dev/null &
  server=$!
  for _ in {1..200}; do
    if [[ $(<"$folder/told") =~ \"url\":\ ?\"([^\"]+)\" ]]; then
      url=${BASH_REMATCH[1]}
      return
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  fail "the server does not serve: $(<"$folder/log")"
}

# Ends the server; that it ended well and had no error to tell of belongs to every run.
stop() {
  local ended=0 pid=$server
  kill "$pid"
  server=
  wait "$pid" || ended=$?
  ((ended == 0)) || fail "the server ended with $ended"
  [[ ! -s $folder/log ]] || fail "the server said: $(head -c 4000 "$folder/log")"
}

# Leaves nothing behind, whichever way a script ends.
leave() {
  if [[ -n $server ]]; then
    kill "$server" 2>/dev/null || true
    wait "$server" || true
  fi
  rm -rf "$folder"
}
