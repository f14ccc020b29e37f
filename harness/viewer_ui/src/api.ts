import { useEffect, useState } from "preact/hooks";

export class Failed extends Error {}

export async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(url, signal ? { signal } : {});
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failed("The viewer does not answer: is `wardround view` still running?");
  }
  const body: unknown = await answer.json().catch(() => null);
  if (!answer.ok) {
    const detail = body && typeof body === "object" && "detail" in body ? body.detail : answer.statusText;
    throw new Failed(typeof detail === "string" ? detail : JSON.stringify(detail));
  }
  return body as T;
}

export interface Loaded<T> {
  data: T | null;
  error: string | null;
}

// The answer of an address, loaded anew when the address changes. While it loads, the old answer is gone:
// a page never shows one run's numbers under another's name.
export function useLoad<T>(url: string | null): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { url: string | null }>({ data: null, error: null, url: null });
  useEffect(() => {
    if (url === null) return;
    const abort = new AbortController();
    get<T>(url, abort.signal)
      .then((data) => setState({ data, error: null, url }))
      .catch((error: unknown) => {
        if (!abort.signal.aborted) setState({ data: null, error: String((error as Error).message), url });
      });
    return () => abort.abort();
  }, [url]);
  return state.url === url ? state : { data: null, error: null };
}

export const address = {
  runs: () => "/api/runs",
  run: (run: string) => `/api/runs/${encodeURIComponent(run)}`,
  attempt: (run: string, task: string, repeat: string | number) =>
    `/api/runs/${encodeURIComponent(run)}/attempts/${encodeURIComponent(task)}/${repeat}`,
  result: (run: string, task: string, repeat: number, round: number, call: number, offset: number) =>
    `${address.attempt(run, task, repeat)}/rounds/${round}/calls/${call}/result?offset=${offset}`,
  compare: (a: string, b: string, different: boolean) =>
    `/api/compare?${new URLSearchParams({ a, b, allow_different: String(different) })}`,
  search: (q: string, run: string) => `/api/search?${new URLSearchParams(run ? { q, run } : { q })}`,
};
