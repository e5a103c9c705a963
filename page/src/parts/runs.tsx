/** What became of pods, as the history has it: those that were created last first. */

import type { RunRow } from "../generated/sent";
import { useNow } from "../now";
import { clock, duration } from "../time";
import { Headings } from "./headings";
import { Name, NameLink } from "./name";
import { State } from "./podColumns";

export function Runs({ rows }: { rows: readonly RunRow[] }) {
  const now = useNow(60);
  if (rows.length === 0) return <p>The history has no such pods.</p>;
  return (
    <table>
      <caption>What became of pods, the latest first</caption>
      <Headings names={["Pod", "Namespace", "Created", "Waited", "Ran", "State", "Flavor", "Reason"]} />
      <tbody>
        {rows.map((row) => (
          <tr key={`${row.namespace}/${row.name} ${row.created}`}>
            <th scope="row">
              <NameLink path={["pods", row.namespace, row.name]}>{row.name}</NameLink>
            </th>
            <td>
              <Name>{row.namespace}</Name>
            </td>
            <td>
              <time dateTime={row.created}>{clock(row.created, now)}</time>
            </td>
            <td title={waits(row)}>{duration(row.waited)}</td>
            <td>{row.started === "" ? "" : duration(row.ran)}</td>
            <td>
              <State state={row.state} />
            </td>
            <td>
              <Name>{row.flavor}</Name>
            </td>
            <td title={row.message}>{row.reason}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function waits(row: RunRow): string {
  return Object.entries(row.waitedFor)
    .map(([reason, seconds]) => `${duration(seconds)} for ${reason}`)
    .join(", ");
}
