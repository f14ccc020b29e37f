// Reads {base, cases: [{type, params: [[name, value]], lenient}]} from standard input and prints, for each case,
// {status, ids, included, total, reads} as one line of JSON. Every page is followed.
import { readFileSync } from 'node:fs';
import { Client } from 'fhir-kit-client';

const { base, cases } = JSON.parse(readFileSync(0, 'utf8'));
const client = new Client({ baseUrl: base });

function grouped(params) {
  const found = {};
  for (const [name, value] of params) {
    (found[name] ??= []).push(value);
  }
  return found;
}

async function run({ type, params, lenient }) {
  const headers = { Prefer: `handling=${lenient ? 'lenient' : 'strict'}` };
  const answer = { status: 200, ids: [], included: [], total: null };
  try {
    let bundle = await client.search({ resourceType: type, searchParams: grouped(params), options: { headers } });
    answer.total = bundle.total ?? null;
    for (let pages = 0; bundle && pages < 100; pages += 1) {
      for (const { resource, search } of bundle.entry ?? []) {
        if (search.mode === 'match') answer.ids.push(resource.id);
        if (search.mode === 'include') answer.included.push(resource.id);
      }
      bundle = await client.nextPage({ bundle });
    }
  } catch (error) {
    answer.status = error.response?.status ?? -1;
    answer.issue = error.response?.data?.issue?.[0]?.severity ?? String(error);
  }
  return answer;
}

for (const one of cases) {
  console.log(JSON.stringify(await run(one)));
}
