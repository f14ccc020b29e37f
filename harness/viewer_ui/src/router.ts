// Addresses live in the hash: every view, filter and sort has a link, and the server needs no routes for them.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  path: string[];
  query: URLSearchParams;
}

export function parse(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const steps = path.split("/").filter(Boolean);
  return { path: steps.map(decode), query: new URLSearchParams(query) };
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

export function href(path: readonly (string | number)[], query: Record<string, string> = {}): string {
  const filled = Object.entries(query).filter(([, value]) => value !== "");
  const text = new URLSearchParams(filled).toString();
  return "#/" + path.map((step) => encodeURIComponent(step)).join("/") + (text ? "?" + text : "");
}

export function go(target: string): void {
  location.hash = target;
}

// Replaces the query of this address without a new entry in the history: typing in a filter is no navigation.
export function setQuery(place: Place, changes: Record<string, string>): void {
  const query = { ...Object.fromEntries(place.query), ...changes };
  history.replaceState(null, "", href(place.path, query));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => parse(location.hash));
  useEffect(() => {
    const update = () => setPlace(parse(location.hash));
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  return place;
}
