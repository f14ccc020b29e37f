import type { Score } from "./types";

export const percent = (rate: number): string => (100 * rate).toFixed(1);
export const count = (value: number): string => value.toLocaleString("en-US");
export const money = (value: number | null, digits = 2): string =>
  value === null ? "unknown" : "$" + value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
export const seconds = (value: number | null): string =>
  value === null ? "-" : value < 0.0995 ? `${(1000 * value).toFixed(1)} ms` : `${value.toFixed(1)} s`;
export const words = (code: string): string => code.replaceAll("_", " ");

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 1_000_000) return `${(value / 1000).toFixed(1)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}

export function scoreText(score: Score | undefined): { main: string; small: string } {
  if (!score) return { main: "-", small: "" };
  if (score.rate !== null && score.ci95) {
    return { main: `${percent(score.rate)} %`, small: `${percent(score.ci95[0])} to ${percent(score.ci95[1])}` };
  }
  const [low, high] = score.rate_bounds ?? [0, 1];
  return { main: `${percent(low)} to ${percent(high)} %`, small: "bounds" };
}

export const scoreValue = (score: Score | undefined): number | null =>
  score ? (score.rate ?? score.rate_bounds?.[0] ?? null) : null;

// JSON as a person reads it: one line where it fits, indented where it does not.
export function pretty(value: unknown): string {
  const flat = JSON.stringify(value);
  return flat === undefined ? "" : flat.length <= 100 ? flat : JSON.stringify(value, null, 2);
}

// A result's text, indented when it is JSON. What is cut off is no JSON and stays as it is.
export function prettyText(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
