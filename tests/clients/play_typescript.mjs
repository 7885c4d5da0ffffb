// Calls for the script, made by the official TypeScript client: one JSON line in for each, what a model reads out.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, channel, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "typescript", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
await client.listTools(); // the client validates structured content against what is listed

for await (const line of createInterface({ input: process.stdin })) {
  const [name, given] = JSON.parse(line);
  const result = await client.callTool({ name, arguments: given });
  const text = result.content.map((block) => block.text).join("\n");
  const isStructured = channel === "structured" && result.structuredContent !== undefined;
  console.log(JSON.stringify(isStructured ? JSON.stringify(result.structuredContent) : text));
}
await client.close();
