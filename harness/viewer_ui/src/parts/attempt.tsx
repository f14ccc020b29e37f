import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { address, get } from "../api";
import { bytes, count, pretty, prettyText, seconds, words } from "../format";
import { href } from "../router";
import type { AttemptDetail, Call, DiffLine, FailureNote, ResultPart, Round, Write } from "../types";
import { Problem, Status, Verdict } from "./marks";

export function AttemptHead({ detail, level }: { detail: AttemptDetail; level: 1 | 2 }) {
  const { row } = detail;
  const title = `${row.task_id}${row.repeat > 0 ? `, repeat ${row.repeat}` : ""}`;
  return (
    <>
      {level === 1 ? (
        <h1 tabIndex={-1}>{title}</h1>
      ) : (
        <h2>
          <a href={href(["runs", detail.run_id, row.task_id, row.repeat])}>{detail.run_name}</a>
        </h2>
      )}
      <p class="verdicts">
        <Verdict passed={row.medagentbench} rules="medagentbench" />
        <Verdict passed={row.clinical} rules="clinical" />
        <Status status={row.status} owed={row.owed} />
        <span class="soft">
          {row.category} ({row.kind}, {row.difficulty}), {row.rounds_by_call} rounds by call, {row.rounds_by_turn} by turn,{" "}
          {count(row.tokens)} tokens, {seconds(row.seconds)}
        </span>
      </p>
      {detail.error && <Problem text={detail.error} />}
    </>
  );
}

export function TaskBox({ detail }: { detail: AttemptDetail }) {
  if (!detail.task) return <p class="soft small">The task's text is not at hand: its task set has moved or changed.</p>;
  return (
    <section class="card task" aria-label="Task">
      <p class="instruction">{detail.task.instruction}</p>
      {detail.task.context && <p class="soft context">{detail.task.context}</p>}
      <p class="soft small">
        now {detail.task.now}
        {detail.task.branch ? `, branch ${detail.task.branch}` : ""}
      </p>
    </section>
  );
}

export function Timeline({ detail }: { detail: AttemptDetail }) {
  return (
    <ol class="timeline" aria-label={`Rounds of ${detail.run_name}`}>
      {detail.rounds.map((round, index) => (
        <RoundItem key={index} round={round} number={index} detail={detail} />
      ))}
      <li class="round end" tabIndex={-1}>
        <h3>Answer</h3>
        {detail.answer === null ? <p class="soft">none given</p> : <pre class="answer">{detail.answer}</pre>}
        {detail.mentions_post && <p class="soft small">A message holds the letters POST, which the original rules count as a write.</p>}
      </li>
    </ol>
  );
}

function RoundItem({ round, number, detail }: { round: Round; number: number; detail: AttemptDetail }) {
  const usage = round.usage;
  return (
    <li class="round" tabIndex={-1}>
      <h3>
        Round {number + 1}
        <span class="soft small">
          {" "}
          {words(round.stop)}
          {round.seconds === null ? "" : `, ${seconds(round.seconds)}`}
          {usage ? `, ${count(usage["input_tokens"] ?? 0)} tokens in, ${count(usage["output_tokens"] ?? 0)} out` : ""}
          {round.tries > 1 ? `, ${round.tries} tries` : ""}
        </span>
      </h3>
      {round.text && <p class="said">{round.text}</p>}
      {round.notes.map((note) => (
        <p class="soft small" key={note}>
          {note}
        </p>
      ))}
      {round.calls.map((call, place) => (
        <CallBox key={place} call={call} place={place} round={number} detail={detail} />
      ))}
    </li>
  );
}

function CallBox({ call, place, round, detail }: { call: Call; place: number; round: number; detail: AttemptDetail }) {
  const write = call.write === null ? undefined : detail.writes[call.write];
  return (
    <section class={`call ${call.ok ? "" : "refused"}`} aria-label={`Call of ${call.function}`}>
      <header>
        <code class="function">{call.function}</code>
        {!call.ok && <span class="badge warn">refused</span>}
        <span class="soft small">{seconds(call.seconds)}</span>
      </header>
      {write ? (
        <Captured write={write} />
      ) : (
        <pre class="arguments" tabIndex={0} aria-label="Arguments">
          {pretty(call.arguments)}
        </pre>
      )}
      <Result call={call} place={place} round={round} detail={detail} />
    </section>
  );
}

// A result stays folded, whatever its size: its beginning came with the attempt, the rest comes in parts.
function Result({ call, place, round, detail }: { call: Call; place: number; round: number; detail: AttemptDetail }) {
  const [parts, setParts] = useState<ResultPart[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const last = parts.at(-1);
  const load = (offset: number) =>
    get<ResultPart>(address.result(detail.run_id, detail.row.task_id, detail.row.repeat, round, place, offset))
      .then((part) => setParts((held) => (held.some((one) => one.offset === part.offset) ? held : [...held, part])))
      .catch((error: unknown) => setProblem(String((error as Error).message)));
  if (call.result_chars === null) return <p class="soft small">{bytes(call.result_bytes)} of result, not kept in the run.</p>;
  const short = call.preview.length >= call.result_chars;
  const text = short ? call.preview : parts.map((part) => part.text).join("");
  const onToggle = (event: Event) => {
    if ((event.currentTarget as HTMLDetailsElement).open && !short && !last) void load(0);
  };
  return (
    <details class="result" onToggle={onToggle}>
      <summary>
        Result, {bytes(call.result_bytes)} <span class="preview">{call.preview.slice(0, 120)}</span>
      </summary>
      {problem && <Problem text={problem} />}
      <pre tabIndex={0} aria-label="Result">
        {last?.next === null || short ? prettyText(text) : text}
      </pre>
      {last && last.next !== null && (
        <button type="button" onClick={() => void load(last.next!)}>
          Show more ({bytes(last.total - last.next)} left)
        </button>
      )}
    </details>
  );
}

// Beside each captured line stands what was expected there; a line that no rule objects to is its own expectation.
export function Captured({ write }: { write: Write }) {
  const faults = write.lines.filter((line) => line.expected !== null).length;
  const said = faults ? `${faults} difference${faults > 1 ? "s" : ""}` : "nothing objected to";
  return (
    <div class="captured" role="region" aria-label={`Captured ${write.resource_type} beside what was expected`} tabIndex={0}>
      {write.verdict && <p class="problem">{write.verdict}</p>}
      <table>
        <caption>
          {write.accepted ? "Captured" : "Refused"} {write.resource_type}: {said}
        </caption>
        <thead>
          <tr>
            <th scope="col" class="left">
              captured
            </th>
            {faults > 0 && (
              <th scope="col" class="left">
                expected
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {write.lines.map((line, index) => (
            <tr key={index} class={line.mark ?? "same"}>
              <td>
                <code class={`indent${Math.min(line.indent, 12)}`}>
                  {line.mark === "missing" ? <span class="soft">(nothing)</span> : line.text}
                </code>
              </td>
              {faults > 0 && <Expected line={line} />}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Expected({ line }: { line: DiffLine }) {
  const indent = `indent${Math.min(line.indent, 12)}`;
  if (!line.mark) {
    return (
      <td class="soft">
        <code class={indent}>{line.text}</code>
      </td>
    );
  }
  // Inside an object that was to be something else altogether: its first line says what.
  if (line.expected === null) return <td />;
  return (
    <td>
      <code class={indent}>
        <span class="sign">{line.mark === "missing" ? "+" : "≠"}</span> {line.expected}
      </code>
      <small class={indent}>
        {line.codes.join(", ")} ({line.rules.join(", ")})
      </small>
    </td>
  );
}

// A path may break over lines before a dot, and in no word.
function JsonPath({ path }: { path: string }) {
  return (
    <code class="path">
      {path.split(".").map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {index > 0 ? `.${part}` : part}
        </Fragment>
      ))}
    </code>
  );
}

export function Failures({ failures }: { failures: readonly FailureNote[] }) {
  if (failures.length === 0) return <p class="soft">Neither rule set objects to anything.</p>;
  return (
    <div class="scroll cards" role="region" aria-label="Failures" tabIndex={0}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {["rules", "failure", "at", "expected", "got"].map((title) => (
              <th scope="col" role="columnheader" class="left" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {failures.map((failure, index) => (
            <tr role="row" key={index}>
              <td role="cell" class="left" data-title="rules">
                {failure.rules}
              </td>
              <td role="cell" class="left" data-title="failure">
                <code class="code">{failure.code}</code> {failure.note && <small>a note: does not fail</small>}
              </td>
              <td role="cell" class="left wrap" data-title="at">
                <JsonPath path={failure.path} />
              </td>
              <td role="cell" class="left wrap" data-title="expected">
                <code>{pretty(failure.expected)}</code>
              </td>
              <td role="cell" class="left wrap" data-title="got">
                <code>{pretty(failure.got)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
