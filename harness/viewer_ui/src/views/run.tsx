import { useMemo } from "preact/hooks";
import { address, useLoad } from "../api";
import { count, money, percent, scoreText, seconds, words } from "../format";
import { Filters, Select, TextField } from "../parts/filters";
import { Codes, Problem, ScoreCell, Status, Verdict, Waiting } from "../parts/marks";
import { DataTable, type Column } from "../parts/table";
import { href, setQuery, type Place } from "../router";
import type { AttemptRow, RunDetail, Score } from "../types";

const VERDICTS: readonly (readonly [string, string])[] = [
  ["", "any"],
  ["clinical-pass", "clinical passes"],
  ["clinical-fail", "clinical fails"],
  ["medagentbench-pass", "medagentbench passes"],
  ["medagentbench-fail", "medagentbench fails"],
  ["disagree", "the rule sets disagree"],
  ["owed", "owed"],
];

function fitsVerdict(row: AttemptRow, verdict: string): boolean {
  switch (verdict) {
    case "clinical-pass":
      return row.clinical === true;
    case "clinical-fail":
      return row.clinical === false;
    case "medagentbench-pass":
      return row.medagentbench === true;
    case "medagentbench-fail":
      return row.medagentbench === false;
    case "disagree":
      return row.clinical !== null && row.clinical !== row.medagentbench;
    case "owed":
      return row.owed;
    default:
      return true;
  }
}

export function filterAttempts(rows: readonly AttemptRow[], query: URLSearchParams): AttemptRow[] {
  const get = (name: string) => query.get(name) ?? "";
  const text = get("q").toLowerCase();
  return rows.filter(
    (row) =>
      (!get("category") || row.category === get("category")) &&
      (!get("difficulty") || row.difficulty === get("difficulty")) &&
      (!get("status") || row.status === get("status")) &&
      (!get("code") || row.codes.includes(get("code")) || row.notes.includes(get("code"))) &&
      fitsVerdict(row, get("verdict")) &&
      (!text || row.task_id.toLowerCase().includes(text)),
  );
}

function columns(run: string): Column<AttemptRow>[] {
  return [
    {
      key: "task",
      title: "task",
      head: true,
      value: (row) => `${row.task_id} ${row.repeat}`,
      cell: (row) => (
        <a class="row-link" href={href(["runs", run, row.task_id, row.repeat])}>
          {row.task_id}
          {row.repeat > 0 && <small>repeat {row.repeat}</small>}
        </a>
      ),
    },
    {
      key: "category",
      title: "category",
      left: true,
      value: (row) => row.category,
      cell: (row) => (
        <>
          {row.category} <small>{`${row.kind}, ${row.difficulty}`}</small>
        </>
      ),
    },
    { key: "status", title: "status", left: true, value: (row) => row.status, cell: (row) => <Status {...row} /> },
    {
      key: "medagentbench",
      title: "medagentbench",
      left: true,
      value: (row) => (row.medagentbench === null ? null : Number(row.medagentbench)),
      cell: (row) => <Verdict passed={row.medagentbench} />,
    },
    {
      key: "clinical",
      title: "clinical",
      left: true,
      value: (row) => (row.clinical === null ? null : Number(row.clinical)),
      cell: (row) => <Verdict passed={row.clinical} />,
    },
    {
      key: "codes",
      title: "failures",
      left: true,
      value: (row) => row.codes.join(" ") || null,
      cell: (row) => <Codes codes={row.codes} />,
    },
    { key: "rounds", title: "rounds", value: (row) => row.rounds_by_call, cell: (row) => row.rounds_by_call },
    { key: "tokens", title: "tokens", value: (row) => row.tokens, cell: (row) => count(row.tokens) },
    { key: "cost", title: "cost", value: (row) => row.cost_usd, cell: (row) => money(row.cost_usd, 4) },
    { key: "seconds", title: "time", value: (row) => row.seconds, cell: (row) => seconds(row.seconds) },
  ];
}

function distinct(values: readonly string[], any: string): (readonly [string, string])[] {
  const found = [...new Set(values)].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return [["", any] as const, ...found.map((value) => [value, words(value)] as const)];
}

export function RunView({ place, run }: { place: Place; run: string }) {
  const { data, error } = useLoad<RunDetail>(address.run(run));
  const rows = useMemo(() => (data ? filterAttempts(data.attempts, place.query) : []), [data, place.query]);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting />;
  const get = (name: string) => place.query.get(name) ?? "";
  const set = (name: string) => (value: string) => setQuery(place, { [name]: value });
  const all = data.attempts;
  return (
    <>
      <h1 tabIndex={-1}>{data.run.name}</h1>
      <p class="soft">
        {data.run.model}, {data.run.protocol} protocol, {data.run.tasks} tasks of {data.run.task_set || "a task set"}
        {data.run.repeats > 1 ? ` × ${data.run.repeats}` : ""}{" "}
        {data.run.marks.map((mark) => (
          <span class="badge" key={mark}>
            {mark}
          </span>
        ))}
      </p>
      <Overview detail={data} />
      <h2>Attempts</h2>
      <Filters>
        <Select label="Category" value={get("category")} onChange={set("category")} options={distinct(all.map((row) => row.category), "any")} />
        <Select label="Difficulty" value={get("difficulty")} onChange={set("difficulty")} options={distinct(all.map((row) => row.difficulty), "any")} />
        <Select label="Verdict" value={get("verdict")} onChange={set("verdict")} options={VERDICTS} />
        <Select label="Failure" value={get("code")} onChange={set("code")} options={distinct(all.flatMap((row) => [...row.codes, ...row.notes]), "any")} />
        <Select label="Status" value={get("status")} onChange={set("status")} options={distinct(all.map((row) => row.status), "any")} />
        <TextField label="Task id" value={get("q")} placeholder="task5_12" onInput={set("q")} />
        <span class="soft" role="status">
          {rows.length} of {all.length} attempts
        </span>
      </Filters>
      <DataTable
        label="Attempts"
        rows={rows}
        columns={columns(run)}
        sort={get("sort") || "task"}
        onSort={set("sort")}
        rowKey={(row) => `${row.task_id} ${row.repeat}`}
        empty="No attempt fits the filters."
      />
      <details>
        <summary>Manifest</summary>
        <pre tabIndex={0}>{JSON.stringify(data.manifest, null, 2)}</pre>
        <p class="soft small">
          SHA-256 of manifest.json: <code>{data.manifest_sha256}</code>
        </p>
      </details>
    </>
  );
}

const BROAD = ["overall", "query", "action", "easy", "medium", "hard"];

function Overview({ detail }: { detail: RunDetail }) {
  const groups = Object.keys(detail.scores.clinical ?? {});
  // What is none of the six is a category, the ten or a plugin's.
  const broad = groups.filter((group) => BROAD.includes(group));
  const narrow = groups.filter((group) => !BROAD.includes(group));
  return (
    <div class="overview">
      <div class="card">
        <table class="compact">
          <thead>
            <tr>
              <th class="left">group</th>
              <th class="left">medagentbench</th>
              <th class="left">clinical</th>
            </tr>
          </thead>
          <tbody>
            {broad.map((group) => (
              <tr key={group}>
                <th scope="row">{group}</th>
                <td class="left">
                  <ScoreCell score={detail.scores.medagentbench?.[group]} series={1} />
                </td>
                <td class="left">
                  <ScoreCell score={detail.scores.clinical?.[group]} series={0} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="card">
        <table class="compact heat">
          <thead>
            <tr>
              <th class="left">category</th>
              <th>medagentbench</th>
              <th>clinical</th>
            </tr>
          </thead>
          <tbody>
            {narrow.map((group) => (
              <tr key={group}>
                <th scope="row">
                  <a href={href(["runs", detail.run.id], { category: group })}>{group}</a>
                </th>
                <Heat score={detail.scores.medagentbench?.[group]} />
                <Heat score={detail.scores.clinical?.[group]} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="card">
        <Ledger detail={detail} />
      </div>
    </div>
  );
}

function Heat({ score }: { score: Score | undefined }) {
  const rate = score?.rate;
  const step = rate === null || rate === undefined ? "none" : String(Math.round(10 * rate));
  return <td class={`h${step}`}>{rate === null || rate === undefined ? scoreText(score).main : percent(rate)}</td>;
}

function Ledger({ detail }: { detail: RunDetail }) {
  const hats = Object.entries((detail.pass_hat_k as Record<string, Record<string, { rate: number }>>)["clinical"] ?? {});
  const severity = detail.severity as Record<string, { count: number }>;
  const harms = Object.entries(severity).filter(([, harm]) => harm.count > 0);
  return (
    <dl class="facts">
      {Object.entries(detail.run.ledger).map(([status, number]) => (
        <div key={status}>
          <dt>
            <a href={href(["runs", detail.run.id], { status })}>{words(status)}</a>
          </dt>
          <dd>{count(number)}</dd>
        </div>
      ))}
      {hats.length > 1 &&
        hats.map(([k, hat]) => (
          <div key={k}>
            <dt>pass^{k}, clinical</dt>
            <dd>{percent(hat.rate)} %</dd>
          </div>
        ))}
      {harms.map(([kind, harm]) => (
        <div key={kind} class="harm">
          <dt>{words(kind)}</dt>
          <dd>{count(harm.count)}</dd>
        </div>
      ))}
      <div>
        <dt>tokens in</dt>
        <dd>{count(detail.run.input_tokens)}</dd>
      </div>
      <div>
        <dt>tokens out</dt>
        <dd>{count(detail.run.output_tokens)}</dd>
      </div>
      <div>
        <dt>cost</dt>
        <dd>{money(detail.run.cost_usd)}</dd>
      </div>
    </dl>
  );
}
