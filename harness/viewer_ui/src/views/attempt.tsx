import { address, useLoad } from "../api";
import { step, useKeys } from "../keys";
import { AttemptHead, Failures, TaskBox, Timeline } from "../parts/attempt";
import { Problem, Waiting } from "../parts/marks";
import { go, href } from "../router";
import type { AttemptDetail } from "../types";

export function AttemptView({ run, task, repeat }: { run: string; task: string; repeat: string }) {
  const { data, error } = useLoad<AttemptDetail>(address.attempt(run, task, repeat));
  const turn = (to: readonly [string, number] | null | undefined) => to && go(href(["runs", run, to[0], to[1]]));
  useKeys({
    j: () => step(".round", 1),
    k: () => step(".round", -1),
    o: () => document.activeElement?.closest(".round")?.querySelectorAll("summary").forEach((summary) => summary.click()),
    n: () => turn(data?.next),
    p: () => turn(data?.previous),
    u: () => go(href(["runs", run])),
  });
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting />;
  return (
    <>
      <nav class="crumbs" aria-label="Attempts">
        <a href={href(["runs", run])}>{data.run_name}</a>
        <span>
          {data.previous && <a href={href(["runs", run, data.previous[0], data.previous[1]])}>← {data.previous[0]}</a>}{" "}
          {data.next && <a href={href(["runs", run, data.next[0], data.next[1]])}>{data.next[0]} →</a>}
        </span>
      </nav>
      <AttemptHead detail={data} level={1} />
      <TaskBox detail={data} />
      <h2>What the rules say</h2>
      <Failures failures={data.failures} />
      <h2>Rounds</h2>
      <Timeline detail={data} />
    </>
  );
}
