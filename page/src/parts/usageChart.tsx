/** CPU hours of each group, period by period, as stacked bars. The table below says the sums as text. */

import { Bar, BarChart, CartesianGrid, Legend, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { UsageRow } from "../generated/sent";
import { byPeriod, totals } from "../usage";
import { COLOURS, TOOLTIP } from "./colours";

const MOST_GROUPS = COLOURS.length;

export default function UsageChart({ rows, by }: { rows: readonly UsageRow[]; by: string }) {
  const names = totals(rows, by)
    .slice(0, MOST_GROUPS)
    .map((total) => total.name);
  if (names.length === 0) return null;
  return (
    <figure className="chart">
      <figcaption>CPU hours{names.length === MOST_GROUPS ? `, of the first ${MOST_GROUPS}` : ""}</figcaption>
      <ResponsiveContainer width="100%" height={220}>
        <BarChart data={byPeriod(rows, by, "cpu")} accessibilityLayer>
          <CartesianGrid stroke="var(--rule)" vertical={false} />
          <XAxis
            dataKey="begin"
            tickFormatter={(at: string) => new Date(at).toLocaleDateString()}
            stroke="var(--quiet)"
          />
          <YAxis width={56} stroke="var(--quiet)" />
          <Tooltip labelFormatter={(at) => new Date(String(at)).toLocaleDateString()} contentStyle={TOOLTIP} />
          <Legend />
          {names.map((name, index) => (
            <Bar
              key={name}
              name={name || "(none)"}
              dataKey={(period: Record<string, number>) => period[name] ?? 0}
              stackId="all"
              fill={COLOURS[index] ?? "currentColor"}
              isAnimationActive={false}
            />
          ))}
        </BarChart>
      </ResponsiveContainer>
    </figure>
  );
}
