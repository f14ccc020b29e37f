import { render, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { step, useKeys } from "./keys";
import { go, href, usePlace, type Place } from "./router";
import { applyTheme, heldTheme, nextTheme } from "./theme";
import { AttemptView } from "./views/attempt";
import { CompareView, PairView } from "./views/compare";
import { RunView } from "./views/run";
import { RunsView } from "./views/runs";
import { SearchView } from "./views/search";
import "./style.css";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search"],
  ["j, k", "next, previous row or round"],
  ["Enter", "open the row"],
  ["x", "choose a run for comparison"],
  ["c", "compare the two chosen runs"],
  ["o", "fold or unfold the results of a round"],
  ["n, p", "next, previous attempt"],
  ["u", "up: to the run, to the comparison"],
  ["g", "all runs"],
  ["?", "this list"],
];

function view(place: Place): { title: string; body: ComponentChildren } {
  const [first, ...rest] = place.path;
  if (first === "runs" && rest.length === 1) return { title: rest[0]!, body: <RunView place={place} run={rest[0]!} /> };
  if (first === "runs" && rest.length === 3) {
    const [run, task, repeat] = rest as [string, string, string];
    return { title: `${task} · ${run}`, body: <AttemptView key={rest.join("/")} run={run} task={task} repeat={repeat} /> };
  }
  if (first === "compare" && rest.length === 2) {
    const [a, b] = rest as [string, string];
    return { title: `${b} against ${a}`, body: <CompareView place={place} a={a} b={b} /> };
  }
  if (first === "compare" && rest.length >= 3) {
    const [a, b, task, repeat = "0"] = rest as [string, string, string, string?];
    return { title: `${task} · ${a}, ${b}`, body: <PairView key={rest.join("/")} a={a} b={b} task={task} repeat={repeat} /> };
  }
  if (first === "search") return { title: "Search", body: <SearchView place={place} /> };
  return { title: "Runs", body: <RunsView place={place} /> };
}

function App() {
  const place = usePlace();
  const [theme, setTheme] = useState(heldTheme);
  const box = useRef<HTMLInputElement>(null);
  const help = useRef<HTMLDialogElement>(null);
  const { title, body } = view(place);
  const path = place.path.join("/");
  useEffect(() => applyTheme(theme), [theme]);
  useEffect(() => {
    document.title = `${title} · wardround`;
  }, [title]);
  // A new page begins at its top, for the eye and for a screen reader.
  useEffect(() => {
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [path]);
  const inList = place.path.length < 3;
  useKeys({
    "/": () => box.current?.focus(),
    "?": () => help.current?.showModal(),
    g: () => go("#/"),
    Escape: () => box.current?.blur(),
    ...(inList ? { j: () => step(".row-link", 1), k: () => step(".row-link", -1) } : {}),
  });
  const find = (event: Event) => {
    event.preventDefault();
    const q = box.current?.value.trim() ?? "";
    if (q) go(href(["search"], { q }));
  };
  return (
    <>
      <header class="top">
        <a class="brand" href="#/">
          wardround
        </a>
        <form role="search" aria-label="All runs" onSubmit={find}>
          <input ref={box} type="search" name="q" aria-label="Search all runs" placeholder="Search all runs  ( / )" />
        </form>
        <nav aria-label="Viewer">
          <a href="#/">Runs</a>
          <a href="/openapi.json">API</a>
          <button type="button" class="plain" onClick={() => setTheme(nextTheme(theme))}>
            Theme: {theme}
          </button>
          <button type="button" class="plain" onClick={() => help.current?.showModal()}>
            Keys
          </button>
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        {body}
      </main>
      <footer>For research and development use; not a medical device. The doses are the benchmark's protocol, not guidance.</footer>
      <dialog ref={help} aria-labelledby="keys-title">
        <h2 id="keys-title">Keys</h2>
        <dl class="keys">
          {KEYS.map(([key, meaning]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button class="primary">Close</button>
        </form>
      </dialog>
    </>
  );
}

render(<App />, document.getElementById("app")!);
