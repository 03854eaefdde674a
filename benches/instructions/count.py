#!/usr/bin/env python3
"""Counts the instructions of the hot paths and holds them against those that are kept in baseline.json.

    benches/instructions/count.py target/release/handoff-memory            compare; exit code 1 when one grew by over 10 %
    UPDATE_BASELINE=1 benches/instructions/count.py target/release/handoff-memory    keep what is counted now

Each path is counted by valgrind's callgrind in two runs that differ only in how often the path is walked, so that starting,
opening and ending fall away. Requests are sent one after the other, each once the answer to the one before is there: what
is counted does not depend on how busy the machine is. Counts depend on the compiler, though: the baseline names the one
that it was made with, and is to be made anew with another.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BASELINE = HERE / "baseline.json"
TOLERANCE = 0.10
FEW, MANY = 20, 120
RECORDS = 200


def text(n):
    return {"text": f"Listing {n:06} asks for a price monitor over {n % 90 + 10} shops, paid by the hour; " + "x" * 120}


class Server:
    """The program under valgrind, spoken to over its pipes."""

    def __init__(self, command, db):
        env = {"PATH": os.environ["PATH"], "MEMORY_DB": str(db), "AGENT_ID": "count", "RUST_LOG": "off", "HOME": str(db.parent)}
        self.process = subprocess.Popen(
            command, env=env, cwd=db.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.id = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "count", "version": "1"}}
        self.ask("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer or answer["result"].get("isError"):
            raise SystemExit(f"{method} {params} failed: {answer}")
        return answer["result"]

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]

    def end(self):
        self.process.stdin.close()
        said = self.process.stderr.read().decode()
        if self.process.wait() != 0:
            raise SystemExit(f"the program ended with {self.process.returncode}: {said}")
        return said


def fill(server):
    for n in range(RECORDS):
        server.call("remember", scope="listing/boards", key=f"{n}/summary", value=text(n), tags=["board"])


def remember(server, n):
    server.call("remember", scope="listing/new", key=f"{n}/summary", value=text(n))


def recall(server, n):
    server.call("recall", scope="listing/boards", key=f"{n % RECORDS}/summary")


def search(server, n):
    server.call("recall", query=f"price monitor {n % RECORDS:06}", scope="listing", limit=5)


def history(server, n):
    server.call("history", scope="listing/boards", key=f"{n % RECORDS}/summary")


def handoff(server, n):
    server.call("handoff", title=f"packet {n}", summary="s" * 200, next_steps=["go on"],
                refs=[{"scope": "listing/boards", "key": f"{n % RECORDS}/summary"}])


def peek(server, n):
    server.call("resume", peek=True)


def outcome(server, n):
    server.call("record_outcome", outcome="success", outcome_ref=f"run-{n}",
                refs=[{"scope": "listing/boards", "key": f"{n % RECORDS}/summary"}])


def ping(server, n):
    server.ask("ping", {})


PATHS = {walk.__name__: walk for walk in (ping, recall, remember, search, history, handoff, peek, outcome)}


def counted(command):
    return ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]


def collected(said):
    found = re.search(r"Collected : (\d+)", said)
    if not found:
        raise SystemExit(f"valgrind told no count: {said}")
    return int(found[1])


def instructions(binary, walk, times, folder):
    db = folder / f"{walk.__name__}-{times}.db"
    server = Server([str(binary)], db)
    fill(server)
    server.end()
    server = Server(counted([str(binary)]), db)
    for n in range(times):
        walk(server, n)
    return collected(server.end())


def proof(binary, records, folder):
    """What `verify` takes for each version."""
    db = folder / f"verify-{records}.db"
    server = Server([str(binary)], db)
    for n in range(records):
        remember(server, n)
    server.end()
    env = {"PATH": os.environ["PATH"], "RUST_LOG": "off", "HOME": str(folder)}
    ran = subprocess.run(counted([str(binary), "--db", str(db), "verify"]), env=env, capture_output=True, text=True, check=True)
    return collected(ran.stderr)


def main():
    binary = Path(sys.argv[1]).resolve()
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    counts = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, walk in PATHS.items():
            few, many = (instructions(binary, walk, times, folder) for times in (FEW, MANY))
            counts[path] = round((many - few) / (MANY - FEW))
        counts["verify"] = round((proof(binary, 400, folder) - proof(binary, 200, folder)) / 200)
    if os.environ.get("UPDATE_BASELINE"):
        BASELINE.write_text(json.dumps({"compiler": compiler, "instructions": counts}, indent=2) + "\n")
    kept = json.loads(BASELINE.read_text())
    if kept["compiler"] != compiler:
        print(f"the baseline was made with {kept['compiler']}, this is {compiler}: make it anew with UPDATE_BASELINE=1")
    grown = []
    print(f"{'path':<10} {'instructions':>14} {'baseline':>14} {'ratio':>7}")
    for path, count in counts.items():
        before = kept["instructions"][path]
        ratio = count / before
        print(f"{path:<10} {count:>14,} {before:>14,} {ratio:>7.3f}")
        if ratio > 1 + TOLERANCE:
            grown.append(path)
        elif ratio < 1 - TOLERANCE:
            print(f"  {path} takes so much less that the baseline should follow: UPDATE_BASELINE=1")
    if grown:
        raise SystemExit(f"over {TOLERANCE:.0%} more instructions than the baseline: {', '.join(grown)}")


if __name__ == "__main__":
    main()
