// Light, dark, or as the system has it. A choice is kept for the next visit.
const KEY = "wardround-theme";
const ORDER = ["auto", "light", "dark"] as const;
export type Theme = (typeof ORDER)[number];

export function heldTheme(): Theme {
  const held = localStorage.getItem(KEY);
  return ORDER.find((theme) => theme === held) ?? "auto";
}

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  localStorage.setItem(KEY, theme);
}

export const nextTheme = (theme: Theme): Theme => ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length]!;
