import { expect, test } from "vitest";
import type { UsageRow } from "../src/generated/sent";
import { byPeriod, totals } from "../src/usage";

function row(begin: string, queue: string, cpu: string, cost = "0"): UsageRow {
  return { begin, end: "", by: { clusterQueue: queue }, runs: 1, hours: { cpu, memory: `${cpu}Gi` }, cost };
}

const ROWS = [row("2026-11-02", "a", "1.5"), row("2026-11-01", "b", "2", "7.5"), row("2026-11-01", "a", "2")];

test("groups are added up over all periods, the dearest first", () => {
  const found = totals(ROWS, "clusterQueue");
  expect(found.map((total) => [total.name, total.runs, total.hours.cpu, total.hours.memory, total.cost])).toEqual([
    ["b", 1, 2, 2, 7.5],
    ["a", 2, 3.5, 3.5, 0],
  ]);
});

test("a chart has the periods in their order", () => {
  expect(byPeriod(ROWS, "clusterQueue", "cpu")).toEqual([
    { begin: "2026-11-01", a: 2, b: 2 },
    { begin: "2026-11-02", a: 1.5 },
  ]);
});
