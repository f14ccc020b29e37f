import { useState } from "preact/hooks";
import { address, useLoad } from "../api";
import { count, money, scoreValue } from "../format";
import { useKeys } from "../keys";
import { ScoreCell, Problem, Waiting } from "../parts/marks";
import { Filters, TextField } from "../parts/filters";
import { DataTable, type Column } from "../parts/table";
import { go, href, setQuery, type Place } from "../router";
import type { RunRow } from "../types";

function columns(chosen: readonly string[], choose: (id: string) => void): Column<RunRow>[] {
  return [
    {
      key: "choose",
      title: "compare",
      left: true,
      value: (run) => (chosen.includes(run.id) ? 0 : 1),
      cell: (run) => (
        <input
          type="checkbox"
          aria-label={`Choose ${run.name} for comparison`}
          checked={chosen.includes(run.id)}
          disabled={run.error !== null}
          onChange={() => choose(run.id)}
        />
      ),
    },
    {
      key: "name",
      title: "run",
      head: true,
      value: (run) => run.name,
      cell: (run) => (
        <>
          {run.error === null ? (
            <a class="row-link" href={href(["runs", run.id])}>
              {run.name}
            </a>
          ) : (
            run.name
          )}
          <small>{run.error ?? run.model}</small>
        </>
      ),
    },
    { key: "protocol", title: "protocol", left: true, value: (run) => run.protocol, cell: (run) => run.protocol },
    {
      key: "medagentbench",
      title: "medagentbench",
      left: true,
      value: (run) => scoreValue(run.scores.medagentbench),
      cell: (run) => <ScoreCell score={run.scores.medagentbench} series={1} />,
    },
    {
      key: "clinical",
      title: "clinical",
      left: true,
      value: (run) => scoreValue(run.scores.clinical),
      cell: (run) => <ScoreCell score={run.scores.clinical} series={0} />,
    },
    {
      key: "tasks",
      title: "attempts",
      value: (run) => run.tasks * run.repeats,
      cell: (run) => (
        <>
          {count(run.tasks * run.repeats)}
          {run.repeats > 1 && <small class="below">{`${run.tasks} × ${run.repeats}`}</small>}
          {run.owed > 0 && <small class="below">{run.owed} owed</small>}
        </>
      ),
    },
    {
      key: "tokens",
      title: "tokens",
      value: (run) => run.input_tokens + run.output_tokens,
      cell: (run) => count(run.input_tokens + run.output_tokens),
    },
    { key: "cost", title: "cost", value: (run) => run.cost_usd, cell: (run) => money(run.cost_usd) },
    {
      key: "date",
      title: "begun",
      value: (run) => run.created_at,
      cell: (run) => <time dateTime={run.created_at}>{run.created_at.slice(0, 16).replace("T", " ")}</time>,
    },
  ];
}

export function RunsView({ place }: { place: Place }) {
  const { data, error } = useLoad<RunRow[]>(address.runs());
  const [chosen, setChosen] = useState<string[]>([]);
  const wanted = place.query.get("q") ?? "";
  const sort = place.query.get("sort") ?? "-clinical";
  // The earlier choice is what the later one is compared against; a third takes the place of the first.
  const choose = (id: string) =>
    setChosen((held) => (held.includes(id) ? held.filter((one) => one !== id) : [...held, id].slice(-2)));
  const compare = () => chosen.length === 2 && go(href(["compare", ...chosen]));
  useKeys({
    c: compare,
    x: () => {
      const box = document.activeElement?.closest("tr")?.querySelector<HTMLInputElement>("input[type=checkbox]");
      box?.click();
    },
  });
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting />;
  const rows = data.filter((run) => `${run.name} ${run.model} ${run.protocol}`.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <>
      <h1 tabIndex={-1}>Runs</h1>
      <Filters>
        <TextField label="Filter" value={wanted} placeholder="name, model, protocol" onInput={(q) => setQuery(place, { q })} />
        <button type="button" class="primary" disabled={chosen.length !== 2} onClick={compare}>
          Compare {chosen.length} of 2
        </button>
        <span class="soft" role="status">
          {rows.length} of {data.length} runs
        </span>
      </Filters>
      <DataTable
        label="Runs"
        rows={rows}
        columns={columns(chosen, choose)}
        sort={sort}
        onSort={(next) => setQuery(place, { sort: next })}
        rowKey={(run) => run.id}
        rowClass={(run) => (run.error === null ? "" : "broken")}
        empty={data.length === 0 ? "There is no run in this folder yet." : "No run fits the filter."}
      />
    </>
  );
}
