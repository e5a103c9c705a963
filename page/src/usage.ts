/** Sums over rows of usage. */

import type { UsageRow } from "./generated/sent";

/** What one group used over all periods. */
export interface Total {
  name: string;
  runs: number;
  cost: number;
  hours: Record<string, number>;
}

/** Add up the periods of each group, those that cost or used most first. */
export function totals(rows: readonly UsageRow[], by: string): Total[] {
  const found = new Map<string, Total>();
  for (const row of rows) {
    const name = row.by[by] ?? "";
    const total = found.get(name) ?? { name, runs: 0, cost: 0, hours: {} };
    total.runs += row.runs;
    total.cost += Number(row.cost);
    for (const [resource, hours] of Object.entries(row.hours)) {
      total.hours[resource] = (total.hours[resource] ?? 0) + hoursOf(hours);
    }
    found.set(name, total);
  }
  const size = (total: Total) => total.cost || total.hours.cpu || 0;
  return [...found.values()].sort((one, other) => size(other) - size(one));
}

/** Hours of a resource: `4.5`, or of bytes in GiB, `9Gi`. */
export function hoursOf(text: string): number {
  return Number(text.replace(/Gi$/, ""));
}

/** For a chart: one entry for each period, with the hours of a resource of each group. */
export function byPeriod(rows: readonly UsageRow[], by: string, resource: string): Record<string, string | number>[] {
  const found = new Map<string, Record<string, string | number>>();
  for (const row of rows) {
    const period = found.get(row.begin) ?? { begin: row.begin };
    period[row.by[by] ?? ""] = hoursOf(row.hours[resource] ?? "0");
    found.set(row.begin, period);
  }
  return [...found.values()].sort((one, other) => String(one.begin).localeCompare(String(other.begin)));
}
