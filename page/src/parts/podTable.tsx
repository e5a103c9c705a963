/** Pods in a table of any length: only the rows in sight are drawn, and only those around them are sent. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { Window } from "../generated/sent";
import { useMedia } from "../media";
import { POD_COLUMNS, type PodColumn } from "./podColumns";

const ROW_PIXELS = 34;
const OVERSCAN = 10;
/** The server sends windows of 200 rows; those that begin at a multiple of this, so that two who look share them. */
const STEP = 50;

interface TableProps {
  window: Window;
  sort: string;
  now: number;
  onSort: (sort: string) => void;
  onOffset: (offset: number) => void;
}

/** On small screens the columns that tell most. */
function useColumns(): readonly PodColumn[] {
  const isNarrow = useMedia("(max-width: 50rem)");
  return isNarrow ? POD_COLUMNS.filter((column) => !column.isWide) : POD_COLUMNS;
}

function template(columns: readonly PodColumn[]) {
  return { gridTemplateColumns: columns.map((column) => column.width).join(" ") };
}

export function PodTable({ window, sort, now, onSort, onOffset }: TableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const columns = useColumns();
  const rows = useVirtualizer({
    count: window.matched,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PIXELS,
    overscan: OVERSCAN,
  });
  const shown = rows.getVirtualItems();
  const first = shown[0]?.index ?? 0;
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    const end = window.offset + window.order.length;
    const isCovered = first >= window.offset && last < Math.max(end, 1);
    if (!isCovered) onOffset(Math.max(0, STEP * Math.floor((first - STEP) / STEP)));
  }, [first, last, window.offset, window.order.length, onOffset]);
  if (window.matched === 0) return <p>No pod of a queue matches.</p>;
  return (
    <div
      className="pods"
      role="table"
      aria-label="Pods"
      aria-rowcount={window.matched + 1}
      aria-colcount={columns.length}
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by keys
      tabIndex={0}
    >
      <Heading columns={columns} sort={sort} onSort={onSort} />
      <div role="rowgroup" style={{ height: rows.getTotalSize(), position: "relative" }}>
        {shown.map((item) => (
          <Line key={item.key} columns={columns} window={window} index={item.index} top={item.start} now={now} />
        ))}
      </div>
    </div>
  );
}

interface HeadingProps extends Pick<TableProps, "sort" | "onSort"> {
  columns: readonly PodColumn[];
}

function Heading({ columns, sort, onSort }: HeadingProps) {
  return (
    <div role="rowgroup" className="heading">
      <div role="row" aria-rowindex={1} className="row" style={template(columns)}>
        {columns.map(({ key, title }) => (
          <span role="columnheader" key={title} aria-sort={sorted(sort, key)}>
            {key === null ? (
              title
            ) : (
              <button type="button" onClick={() => onSort(next(sort, key))}>
                {title}
                <span aria-hidden="true">{sort === key ? " ↑" : sort === `-${key}` ? " ↓" : ""}</span>
              </button>
            )}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Up, then down, then the order of the queues again. */
function next(sort: string, key: string): string {
  if (sort === key) return `-${key}`;
  return sort === `-${key}` ? "" : key;
}

function sorted(sort: string, key: string | null): "ascending" | "descending" | undefined {
  if (key === null || sort.replace("-", "") !== key) return undefined;
  return sort === key ? "ascending" : "descending";
}

interface LineProps {
  columns: readonly PodColumn[];
  window: Window;
  index: number;
  top: number;
  now: number;
}

function Line({ columns, window, index, top, now }: LineProps) {
  const key = window.order[index - window.offset];
  const row = key === undefined ? undefined : window.rows[key];
  const style = { ...template(columns), transform: `translateY(${top}px)`, height: ROW_PIXELS };
  return (
    <div role="row" aria-rowindex={index + 2} className="row line" style={style}>
      {columns.map(({ title, cell }) => (
        <span role="cell" key={title}>
          {row === undefined ? "…" : cell(row, now)}
        </span>
      ))}
    </div>
  );
}
