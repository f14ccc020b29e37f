import { address, useLoad } from "../api";
import { Problem, Waiting } from "../parts/marks";
import { href, type Place } from "../router";
import type { SearchResult } from "../types";

export function SearchView({ place }: { place: Place }) {
  const query = place.query.get("q") ?? "";
  const run = place.query.get("run") ?? "";
  const { data, error } = useLoad<SearchResult>(query ? address.search(query, run) : null);
  if (error) return <Problem text={error} />;
  return (
    <>
      <h1 tabIndex={-1}>Search: {query}</h1>
      {!data && query && <Waiting />}
      {data && (
        <>
          <p class="soft" role="status">
            {data.more ? `The first ${data.hits.length} attempts` : `${data.hits.length} attempts`} hold it
            {query.trim().length < 2 ? " (two letters at least)" : ""}.
            {data.skipped.length > 0 ? ` Not searched, for they can't be read: ${data.skipped.join(", ")}.` : ""}
          </p>
          <ol class="hits">
            {data.hits.map((hit) => (
              <li key={`${hit.run_id} ${hit.task_id} ${hit.repeat}`}>
                <a class="row-link" href={href(["runs", hit.run_id, hit.task_id, hit.repeat])}>
                  {hit.run_name} · {hit.task_id}
                  {hit.repeat > 0 ? ` · repeat ${hit.repeat}` : ""}
                </a>{" "}
                <span class="badge">{hit.where}</span>
                <p class="snippet">
                  {hit.before}
                  <mark>{hit.match}</mark>
                  {hit.after}
                </p>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}
