// Drives all seven tools with the official TypeScript SDKs: the first generation's, and the second one's client, which
// negotiates. usage: node drive.mjs PATH_TO_BINARY

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as SecondClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as SecondTransport } from "@modelcontextprotocol/client/stdio";

const binary = resolve(process.argv[2]);
const tools = ["handoff", "history", "memory_stats", "recall", "record_outcome", "remember", "resume"];

// With what each must end up speaking: a client that fell back in silence would test the first generation twice.
const generations = {
  first: [FirstClient, FirstTransport, undefined, "2025-11-25"],
  second: [SecondClient, SecondTransport, { versionNegotiation: { mode: "auto" } }, "2026-07-28"],
};

for (const [name, [Client, Transport, options, version]] of Object.entries(generations)) {
  const folder = mkdtempSync(join(tmpdir(), "handoff-memory-"));
  const db = join(folder, "memory.db");
  const open = [];
  const agent = async (id) => {
    const client = new Client({ name: "driver", version: "1.0.0" }, options);
    const env = { MEMORY_DB: db, AGENT_ID: id, HOME: folder, RUST_LOG: "error" };
    const transport = new Transport({ command: binary, args: [], env });
    // The first generation's client tells the negotiated version to its transport alone.
    let spoken;
    transport.setProtocolVersion = (negotiated) => (spoken = negotiated);
    await client.connect(transport);
    open.push(client);
    assert.equal(client.getNegotiatedProtocolVersion?.() ?? spoken, version);
    return {
      client,
      call: async (tool, args = {}) => {
        const result = await client.callTool({ name: tool, arguments: args });
        assert.ok(!result.isError, `${tool} failed: ${JSON.stringify(result.content)}`);
        assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, tool);
        return result.structuredContent;
      },
    };
  };
  try {
    const scout = await agent("scout");
    const listed = await scout.client.listTools();
    assert.deepEqual(listed.tools.map((tool) => tool.name), tools);
    const first = await scout.call("remember", { scope: "listing", key: "482", value: { fit: 1.5 }, confidence: 0.8 });
    assert.equal(first.record.version, 1);
    await scout.call("remember", { scope: "listing", key: "553", value: "good" });
    const handed = await scout.call("handoff", { title: "Listings", summary: "Two fit.", next_steps: ["apply"] });
    assert.equal(handed.refs.length, 2);
    await scout.call("remember", { scope: "listing", key: "553", value: "taken" });

    const executor = await agent("executor");
    assert.equal((await executor.call("resume", { peek: true })).waiting, 1);
    const resumed = await executor.call("resume");
    assert.equal(resumed.packet.id, handed.packet.id);
    assert.equal(resumed.stale, 1);
    assert.deepEqual(
      resumed.refs.map((ref) => [ref.key, ref.status, ref.value]),
      [["482", "current", { fit: 1.5 }], ["553", "stale", "good"]],
    );
    const found = await executor.call("recall", { query: "taken" });
    assert.deepEqual(found.records.map((record) => record.key), ["553"]);
    const past = await executor.call("history", { scope: "listing", key: "553" });
    assert.deepEqual(past.versions.map((version) => version.value), ["good", "taken"]);
    const done = await executor.call("record_outcome", {
      outcome: "success",
      outcome_ref: "run-1",
      refs: [{ scope: "listing", key: "482" }],
      handoff_id: resumed.packet.id,
    });
    assert.equal(done.moved[0].after, 0.84);
    assert.equal(done.packet.state, "closed");
    assert.equal((await executor.call("memory_stats", { verify: true })).verify.ok, true);
    const wrong = await executor.client.callTool({ name: "recall", arguments: { scope: "listing", limit: 0 } });
    assert.equal(wrong.isError, true);
    console.log(`typescript: ${name} generation: all seven tools answer (${version})`);
  } finally {
    for (const client of open) await client.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
