import { useEffect, useRef } from "preact/hooks";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

// Keys of one view while it is shown. They are letters without a modifier, and rest while a person types.
export function useKeys(keys: Keys): void {
  const held = useRef(keys);
  held.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (isTyping(event.target) && event.key !== "Escape") return;
      const action = held.current[event.key];
      if (action) {
        event.preventDefault();
        action(event);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

// Moves the focus among the elements that a selector names, from wherever it is.
export function step(selector: string, by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  if (all.length === 0) return;
  const at = all.findIndex((element) => element === document.activeElement || element.contains(document.activeElement));
  const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by));
  const target = all[next]!;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "nearest" });
}
