import type { ComponentChildren } from "preact";

export interface Column<Row> {
  key: string;
  title: string;
  // What the column sorts by; null sorts last either way.
  value: (row: Row) => string | number | null;
  cell: (row: Row) => ComponentChildren;
  left?: boolean;
  head?: boolean;
}

// "rate" ascending, "-rate" descending.
export function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: string): Row[] {
  const key = sort.replace(/^-/, "");
  const column = columns.find((candidate) => candidate.key === key);
  if (!column) return [...rows];
  const sign = sort.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => {
    const left = column.value(a);
    const right = column.value(b);
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    if (typeof left === "number" && typeof right === "number") return sign * (left - right);
    return sign * String(left).localeCompare(String(right), "en", { numeric: true });
  });
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  sort: string;
  onSort: (sort: string) => void;
  rowKey: (row: Row) => string;
  rowClass?: (row: Row) => string;
  empty: string;
}

// On a narrow screen rows become cards (style.css); the roles keep it a table for a screen reader.
export function DataTable<Row>({ label, rows, columns, sort, onSort, rowKey, rowClass, empty }: Props<Row>) {
  return (
    <div class="scroll cards" role="region" aria-label={label} tabIndex={0}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <SortHead key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {sorted(rows, columns, sort).map((row) => (
            <tr role="row" key={rowKey(row)} class={rowClass?.(row) ?? ""}>
              {columns.map((column) =>
                column.head ? (
                  <th scope="row" role="rowheader" key={column.key}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td role="cell" key={column.key} class={column.left ? "left" : ""} data-title={column.title}>
                    <span class="value">{column.cell(row)}</span>
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="empty">{empty}</p>}
    </div>
  );
}

function SortHead<Row>({ column, sort, onSort }: { column: Column<Row>; sort: string; onSort: (sort: string) => void }) {
  const up = sort === column.key;
  const down = sort === "-" + column.key;
  const aria = up ? "ascending" : down ? "descending" : "none";
  return (
    <th scope="col" role="columnheader" aria-sort={aria} class={column.left || column.head ? "left" : ""}>
      <button type="button" class="sort" onClick={() => onSort(up ? "-" + column.key : column.key)}>
        {column.title}
        <span aria-hidden="true" class="arrow">
          {up ? "▲" : down ? "▼" : ""}
        </span>
      </button>
    </th>
  );
}
