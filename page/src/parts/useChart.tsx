/** Use of a queue over the time that somebody has looked, as lines. The bars above say the latest of it as text. */

import { CartesianGrid, Legend, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { Sample } from "../samples";
import { COLOURS, TOOLTIP } from "./colours";

export default function UseChart({ samples }: { samples: readonly Sample[] }) {
  const names = [...new Set(samples.flatMap((sample) => Object.keys(sample.used)))];
  if (samples.length < 2) return <p className="loading">The chart of its use begins in a moment.</p>;
  return (
    <figure className="chart">
      <figcaption>Used part of the quota since you look, in percent</figcaption>
      <ResponsiveContainer width="100%" height={200}>
        <LineChart data={[...samples]} accessibilityLayer>
          <CartesianGrid stroke="var(--rule)" />
          <XAxis
            dataKey="at"
            type="number"
            domain={["dataMin", "dataMax"]}
            tickFormatter={(at: number) => new Date(at).toLocaleTimeString()}
            minTickGap={48}
            stroke="var(--quiet)"
          />
          <YAxis unit=" %" width={56} stroke="var(--quiet)" />
          <Tooltip labelFormatter={(at) => new Date(Number(at)).toLocaleTimeString()} contentStyle={TOOLTIP} />
          <Legend />
          {names.map((name, index) => (
            <Line
              key={name}
              name={name}
              dataKey={(sample: Sample) => sample.used[name]}
              stroke={COLOURS[index % COLOURS.length] ?? "currentColor"}
              type="stepAfter"
              dot={false}
              isAnimationActive={false}
            />
          ))}
        </LineChart>
      </ResponsiveContainer>
    </figure>
  );
}
