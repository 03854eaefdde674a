"""Drives all seven tools with the official Python SDK, in both generations of the protocol, over stdio and over HTTP.

usage: drive.py PATH_TO_BINARY
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

# What each mode must end up speaking: a driver that fell back in silence would test the first generation twice.
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
PINNED = [("482", "current", {"fit": 1.0}), ("553", "stale", "good")]
TOOLS = ["handoff", "history", "memory_stats", "recall", "record_outcome", "remember", "resume"]


def check(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"python: {what}: got {got!r}, wanted {wanted!r}")


def settings(db):
    return {"MEMORY_DB": db, "HOME": os.path.dirname(db), "RUST_LOG": "error"}


class Stdio:
    """A process of its own for each agent."""

    def __init__(self, binary, db):
        self.binary, self.db = binary, db

    @contextlib.asynccontextmanager
    async def agent(self, name, mode):
        server = StdioServerParameters(command=self.binary, env={**settings(self.db), "AGENT_ID": name})
        async with Client(server, mode=mode) as client:
            yield client


class Http:
    """One server for all of them, each with a token of its own."""

    def __init__(self, binary, db):
        self.binary, self.db = binary, db

    def __enter__(self):
        words = [self.binary, "serve", "--json", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(words, env=settings(self.db), stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"] + "/mcp"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        check("the server's end", self.process.wait(timeout=30), 0)

    @contextlib.asynccontextmanager
    async def agent(self, name, mode):
        words = [self.binary, "--json", "--agent", name, "token", "create"]
        made = subprocess.run(words, env=settings(self.db), stdout=subprocess.PIPE, text=True, check=True)
        headers = {"Authorization": "Bearer " + json.loads(made.stdout)["secret"]}
        async with create_mcp_http_client(headers=headers) as http:
            async with Client(streamable_http_client(self.url, http_client=http), mode=mode) as client:
                yield client


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise SystemExit(f"python: {tool} failed: {result.content}")
    check(f"{tool} as text", json.loads(result.content[0].text), result.structured_content)
    return result.structured_content


async def drive(way, mode):
    async with way.agent("scout", mode) as scout:
        check("protocol", scout.protocol_version, VERSIONS[mode])
        listed = await scout.list_tools()
        check("tools", [tool.name for tool in listed.tools], TOOLS)
        first = await call(scout, "remember", scope="listing", key="482", value={"fit": 1.0}, confidence=0.8)
        check("version", first["record"]["version"], 1)
        await call(scout, "remember", scope="listing", key="553", value="good")
        handed = await call(scout, "handoff", title="Listings", summary="Two fit.", next_steps=["apply"])
        check("pins", len(handed["refs"]), 2)
        await call(scout, "remember", scope="listing", key="553", value="taken", tags=["late"])
        async with way.agent("executor", mode) as executor:
            looked = await call(executor, "resume", peek=True)
            check("waiting", looked["waiting"], 1)
            resumed = await call(executor, "resume")
            check("packet", resumed["packet"]["id"], handed["packet"]["id"])
            check("stale", resumed["stale"], 1)
            check("pinned", [(ref["key"], ref["status"], ref["value"]) for ref in resumed["refs"]], PINNED)
            found = await call(executor, "recall", query="taken")
            check("found", [record["key"] for record in found["records"]], ["553"])
            past = await call(executor, "history", scope="listing", key="553")
            check("history", [version["value"] for version in past["versions"]], ["good", "taken"])
            done = await call(
                executor,
                "record_outcome",
                outcome="success",
                outcome_ref="run-1",
                refs=[{"scope": "listing", "key": "482"}],
                handoff_id=resumed["packet"]["id"],
            )
            check("moved", done["moved"][0]["after"], 0.84)
            check("closed", done["packet"]["state"], "closed")
            stats = await call(executor, "memory_stats", verify=True)
            check("verify", stats["verify"]["ok"], True)
            wrong = await executor.call_tool("recall", {"limit": 0, "scope": "listing"})
            check("a wrong argument", wrong.is_error, True)


def main():
    binary = os.path.abspath(sys.argv[1])
    for mode in ("legacy", "auto"):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(drive(Stdio(binary, os.path.join(folder, "memory.db")), mode))
        print(f"python: {mode}: all seven tools answer ({VERSIONS[mode]})")
        with tempfile.TemporaryDirectory() as folder, Http(binary, os.path.join(folder, "memory.db")) as server:
            asyncio.run(drive(server, mode))
        print(f"python: {mode}: all seven tools answer over HTTP ({VERSIONS[mode]})")


main()
