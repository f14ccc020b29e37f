import { address, useLoad } from "../api";
import { step, useKeys } from "../keys";
import { AttemptHead, Failures, TaskBox, Timeline } from "../parts/attempt";
import { Filters, Select, TextField } from "../parts/filters";
import { Codes, Problem, ScoreCell, Waiting } from "../parts/marks";
import { DataTable, type Column } from "../parts/table";
import { go, href, setQuery, type Place } from "../router";
import type { AttemptDetail, Compared, ComparedTask } from "../types";

const SHOWN: readonly (readonly [string, string])[] = [
  ["", "all tasks"],
  ["flipped", "flipped, either rule set"],
  ["gained", "gained, clinical"],
  ["lost", "lost, clinical"],
];

function change(task: ComparedTask, rules: "clinical" | "medagentbench"): number {
  return (task.b[rules] ?? 0) / task.repeats_b - (task.a[rules] ?? 0) / task.repeats_a;
}

function fits(task: ComparedTask, shown: string): boolean {
  if (shown === "flipped") return task.flipped;
  if (shown === "gained") return change(task, "clinical") > 0;
  if (shown === "lost") return change(task, "clinical") < 0;
  return true;
}

function passes(passed: number | undefined, repeats: number) {
  const word = repeats > 1 ? `${passed} of ${repeats}` : passed ? "pass" : "fail";
  return <span class={`verdict ${passed === repeats ? "pass" : passed ? "owed" : "fail"}`}>{word}</span>;
}

function columns(data: Compared): Column<ComparedTask>[] {
  const rules = ["medagentbench", "clinical"] as const;
  return [
    {
      key: "task",
      title: "task",
      head: true,
      value: (task) => task.task_id,
      cell: (task) => (
        <a class="row-link" href={href(["compare", data.a.id, data.b.id, task.task_id])}>
          {task.task_id}
        </a>
      ),
    },
    { key: "category", title: "category", left: true, value: (task) => task.category, cell: (task) => task.category },
    ...rules.map(
      (rule): Column<ComparedTask> => ({
        key: rule,
        title: rule,
        left: true,
        value: (task) => change(task, rule),
        cell: (task) => (
          <span class="change">
            {passes(task.a[rule], task.repeats_a)} <span aria-label="then">→</span> {passes(task.b[rule], task.repeats_b)}
          </span>
        ),
      }),
    ),
    { key: "codes-a", title: `${data.a.name} failed by`, left: true, value: (task) => task.codes_a.join(" ") || null, cell: (task) => <Codes codes={task.codes_a} /> },
    { key: "codes-b", title: `${data.b.name} failed by`, left: true, value: (task) => task.codes_b.join(" ") || null, cell: (task) => <Codes codes={task.codes_b} /> },
  ];
}

export function CompareView({ place, a, b }: { place: Place; a: string; b: string }) {
  const different = place.query.get("different") === "1";
  const { data, error } = useLoad<Compared>(address.compare(a, b, different));
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting />;
  const get = (name: string) => place.query.get(name) ?? "";
  const set = (name: string) => (value: string) => setQuery(place, { [name]: value });
  const text = get("q").toLowerCase();
  const rows = data.tasks.filter((task) => fits(task, get("show")) && (!text || `${task.task_id} ${task.category}`.includes(text)));
  return (
    <>
      <h1 tabIndex={-1}>
        {data.b.name} against {data.a.name}
      </h1>
      <p class="soft">
        <a href={href(["runs", a])}>{data.a.name}</a>: {data.a.model}, {data.a.protocol}.{" "}
        <a href={href(["runs", b])}>{data.b.name}</a>: {data.b.model}, {data.b.protocol}.{" "}
        <a href={href(["compare", b, a])}>Turn round</a>
      </p>
      {data.reasons.length > 0 && (
        <div class="problem" role="alert">
          <p>Not comparable as they are: {data.reasons.join("; ")}.</p>
          {!different && <a href={href(["compare", a, b], { different: "1" })}>Compare the tasks that both have done</a>}
        </div>
      )}
      <div class="overview two">
        {(["medagentbench", "clinical"] as const).map((rules, series) => (
          <section class="card" key={rules} aria-label={rules}>
            <h2>{rules}</h2>
            <table class="compact">
              <tbody>
                {[data.a, data.b].map((run) => (
                  <tr key={run.id}>
                    <th scope="row">{run.name}</th>
                    <td class="left">
                      <ScoreCell score={run.scores[rules]} series={series === 0 ? 1 : 0} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            {data.sentences[rules]?.map((sentence) => <p key={sentence}>{sentence}</p>)}
          </section>
        ))}
      </div>
      <h2>Tasks</h2>
      <Filters>
        <Select label="Show" value={get("show")} onChange={set("show")} options={SHOWN} />
        <TextField label="Task or category" value={get("q")} placeholder="task9" onInput={set("q")} />
        <span class="soft" role="status">
          {rows.length} of {data.tasks.length} tasks
        </span>
      </Filters>
      <DataTable
        label="Tasks of both runs"
        rows={rows}
        columns={columns(data)}
        sort={get("sort") || "task"}
        onSort={set("sort")}
        rowKey={(task) => task.task_id}
        rowClass={(task) => (task.flipped ? "flipped" : "")}
        empty="No task fits the filter."
      />
    </>
  );
}

export function PairView({ a, b, task, repeat }: { a: string; b: string; task: string; repeat: string }) {
  const left = useLoad<AttemptDetail>(address.attempt(a, task, repeat));
  const right = useLoad<AttemptDetail>(address.attempt(b, task, repeat));
  useKeys({ j: () => step(".round", 1), k: () => step(".round", -1), u: () => go(href(["compare", a, b])) });
  const shown = left.data ?? right.data;
  return (
    <>
      <nav class="crumbs" aria-label="Comparison">
        <a href={href(["compare", a, b])}>The comparison</a>
      </nav>
      <h1 tabIndex={-1}>{task}, side by side</h1>
      {shown && <TaskBox detail={shown} />}
      <div class="pair">
        {[left, right].map(({ data, error }, index) => (
          <section key={index} class="side">
            {error && <Problem text={error} />}
            {!data && !error && <Waiting />}
            {data && (
              <>
                <AttemptHead detail={data} level={2} />
                <Failures failures={data.failures} />
                <Timeline detail={data} />
              </>
            )}
          </section>
        ))}
      </div>
    </>
  );
}
