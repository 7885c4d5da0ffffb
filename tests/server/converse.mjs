// Search, page to the end, fetch back what was dropped, digest and verify: with the official TypeScript client.
import { createHash } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, ...target] = process.argv.slice(2);
const transport = target[0].startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target[0]))
  : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env, stderr: "ignore" });
const client = new Client({ name: "typescript", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(transport);
await client.listTools(); // the client validates structured content against what is listed

const call = async (name, args) => client.callTool({ name, arguments: args });
const body = async (name, args) => (await call(name, args)).structuredContent;

const asked = { query: "token", response_mode: "ids_only", page_size: 15 };
let page = await body("semantic_search", asked);
const total = page.pagination.total_available;
const seen = page.results.map((row) => row.chunk_id);
while (page.pagination.has_more) {
  page = await body("semantic_search", { ...asked, cursor: page.pagination.cursor });
  seen.push(...page.results.map((row) => row.chunk_id));
}

const wanted = seen.slice(0, 15);
const tight = await call("get_chunks", { chunk_ids: wanted, response_mode: "full", max_tokens: 1200 });
const hash = tight._meta["dev.aerogram/fidelity"].archive_hashes.data;
let kept = "";
for (let on = {}; on; ) {
  const part = await body("retrieve", { hash, as_text: true, ...on });
  kept += part.results[0];
  const page = part.aerogram.page; // pages of text have no number of records, so the contract's own place is not theirs
  on = page?.has_more && { cursor: page.cursor };
}

const question = { source_file: "security/jwt-guide.md", query: "How long is a token valid?" };
const source = (await body("digest_document", question)).results.sources[0];
const digest = JSON.parse(source.content);
const text = [...(await body("retrieve", { hash: digest.source_text_hash })).results[0]];
const quoted = digest.evidence_snippets.every(({ text: quotation, locator }) => {
  const [start, end] = locator.replace("char:", "").split("-").map(Number);
  return text.slice(start, end).join("") === quotation;
});

const wrong = await call("semantic_search", { query: "" });
const version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(
  JSON.stringify({
    version,
    complete: new Set(seen).size === total && seen.length === total && total > 15,
    recovered: `sha256:${createHash("sha256").update(kept).digest("hex")}`.startsWith(hash) && hash.length === 19,
    restored: tight.structuredContent.results.length < 15 && JSON.parse(kept).map((row) => row.chunk_id).join() === wanted.join(),
    verified: quoted && digest.evidence_snippets.length > 0,
    refused: [wrong.isError, wrong.structuredContent.error.code],
  }),
);
