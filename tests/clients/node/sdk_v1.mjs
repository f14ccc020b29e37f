// The TypeScript SDK of the 1.x line.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [target, text] = process.argv.slice(2);
const job = JSON.parse(text);
const client = new Client({ name: "wardround-matrix", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(target)));
const { tools } = await client.listTools();
const found = await client.callTool({ name: "patient_search", arguments: job.search });
const created = await client.callTool({ name: "vital_create", arguments: job.order });
console.log(
  JSON.stringify({
    tools: tools.map((tool) => tool.name),
    found: found.content[0].text,
    created: created.content[0].text,
  }),
);
await client.close();
