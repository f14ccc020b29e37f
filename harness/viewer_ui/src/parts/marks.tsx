import type { Score } from "../types";
import { percent, scoreText, words } from "../format";

// A verdict has a word and a shape beside its colour.
export function Verdict({ passed, rules }: { passed: boolean | null; rules?: string }) {
  const kind = passed === null ? "owed" : passed ? "pass" : "fail";
  const sign = { owed: "○", pass: "✓", fail: "✕" }[kind];
  return (
    <span class={`verdict ${kind}`}>
      <span aria-hidden="true">{sign}</span> {rules ? `${rules} ` : ""}
      {kind}
    </span>
  );
}

export function Status({ status, owed }: { status: string; owed: boolean }) {
  return <span class={owed ? "badge warn" : "badge"}>{words(status)}</span>;
}

export function Codes({ codes }: { codes: readonly string[] }) {
  return (
    <>
      {codes.map((code) => (
        <code class="code" key={code}>
          {code}
        </code>
      ))}
    </>
  );
}

// A score with its interval as a small plot; the numbers beside it say the same.
export function ScoreCell({ score, series }: { score: Score | undefined; series: 0 | 1 }) {
  const { main, small } = scoreText(score);
  const limits = score?.ci95 ?? score?.rate_bounds;
  return (
    <span class="score">
      <span>
        <b>{main}</b> <small>{small}</small>
      </span>
      {limits && (
        <svg class="plot" width="100%" height="10" aria-hidden="true">
          <line class="rail" x1="0" x2="100%" y1="5" y2="5" />
          <line class={`whisker s${series}`} x1={`${percent(limits[0])}%`} x2={`${percent(limits[1])}%`} y1="5" y2="5" />
          {score?.rate !== null && score?.rate !== undefined && (
            <circle class={`dot s${series}`} cx={`${percent(score.rate)}%`} cy="5" r="4" />
          )}
        </svg>
      )}
    </span>
  );
}

export function Problem({ text }: { text: string }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

export function Waiting() {
  return (
    <p class="soft" role="status">
      Loading …
    </p>
  );
}
