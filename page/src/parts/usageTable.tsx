/** Hours and money of each group over the time. */

import type { UsageRow } from "../generated/sent";
import { totals } from "../usage";
import { Name } from "./name";

export function UsageTable({ rows, by, title }: { rows: readonly UsageRow[]; by: string; title: string }) {
  const found = totals(rows, by);
  const resources = [...new Set(found.flatMap((total) => Object.keys(total.hours)))].sort();
  if (found.length === 0) return <p>Nothing was used in this time.</p>;
  return (
    <table>
      <caption>Hours and cost</caption>
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col">Pods</th>
          {resources.map((resource) => (
            <th scope="col" key={resource}>
              {resource} hours{isBytes(rows, resource) ? " (GiB)" : ""}
            </th>
          ))}
          <th scope="col">Cost</th>
        </tr>
      </thead>
      <tbody>
        {found.map((total) => (
          <tr key={total.name}>
            <th scope="row">
              <Name>{total.name || "(none)"}</Name>
            </th>
            <td>{total.runs}</td>
            {resources.map((resource) => (
              <td key={resource}>{number(total.hours[resource] ?? 0)}</td>
            ))}
            <td>{number(total.cost)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function isBytes(rows: readonly UsageRow[], resource: string): boolean {
  return rows.some((row) => row.hours[resource]?.endsWith("Gi"));
}

function number(amount: number): string {
  return amount.toLocaleString(undefined, { maximumFractionDigits: 3 });
}
