/** What a simulation comes to: waits, ends, preemptions and cost of each queue, and use of each flavor. */

import type { OutcomeRow, QueueOutcomeRow, SimulationRow } from "../generated/sent";
import { duration } from "../time";
import { Headings } from "./headings";

const FIGURES: readonly [string, (row: QueueOutcomeRow) => string][] = [
  ["Median wait", (row) => wait(row.median)],
  ["90th percentile", (row) => wait(row.p90)],
  ["Started", (row) => count(row.started)],
  ["Still waiting", (row) => count(row.waiting)],
  ["Preempted", (row) => count(row.preempted)],
  ["Cost", (row) => count(row.cost)],
];

export function Outcomes({ row }: { row: SimulationRow }) {
  const after = row.after ?? row.before;
  const queues = [...new Set([...Object.keys(row.before.clusterQueues), ...Object.keys(after.clusterQueues)])].sort();
  return (
    <>
      <table>
        <caption>
          By ClusterQueue, before → after, means of {row.before.simulations} and {after.simulations} simulations
        </caption>
        <thead>
          <tr>
            <th scope="col">ClusterQueue</th>
            {FIGURES.map(([title]) => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {queues.map((name) => (
            <tr key={name}>
              <th scope="row">
                <bdi className="name">{name}</bdi>
              </th>
              {FIGURES.map(([title, text]) => (
                <Change key={title} before={of(row.before, name, text)} after={of(after, name, text)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <Utilisation before={row.before} after={after} />
    </>
  );
}

function Utilisation({ before, after }: { before: OutcomeRow; after: OutcomeRow }) {
  return (
    <table>
      <caption>Used part of flavors, before → after</caption>
      <Headings names={["Flavor", "Resource", "Used"]} />
      <tbody>
        {before.utilisation.map((one) => {
          const then = after.utilisation.find(
            (other) => other.flavor === one.flavor && other.resource === one.resource,
          );
          return (
            <tr key={`${one.flavor} ${one.resource}`}>
              <th scope="row">
                <bdi className="name">{one.flavor}</bdi>
              </th>
              <td>{one.resource}</td>
              <Change before={percent(one.part)} after={percent(then?.part)} />
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Change({ before, after }: { before: string; after: string }) {
  return <td data-changed={before !== after}>{before === after ? before : `${before} → ${after}`}</td>;
}

function of(outcome: OutcomeRow, name: string, text: (row: QueueOutcomeRow) => string): string {
  const row = outcome.clusterQueues[name];
  return row === undefined ? "–" : text(row);
}

function wait(seconds: number | null): string {
  return seconds === null ? "–" : duration(seconds);
}

function count(number: number): string {
  return number.toLocaleString(undefined, { maximumFractionDigits: 1 });
}

function percent(of: number | null | undefined): string {
  return of === null || of === undefined ? "–" : `${Math.round(100 * of)} %`;
}
