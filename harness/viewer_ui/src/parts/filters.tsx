import type { ComponentChildren } from "preact";

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}

export function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([key, title]) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TextProps {
  label: string;
  value: string;
  placeholder?: string;
  onInput: (value: string) => void;
}

export function TextField({ label, value, placeholder = "", onInput }: TextProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="search"
        value={value}
        placeholder={placeholder}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

export function Filters({ children }: { children: ComponentChildren }) {
  return (
    <form class="filters" role="search" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  );
}
