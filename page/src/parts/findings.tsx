/** What is short for a workload that waits, flavor by flavor, and who holds it. */

import type { FlavorFinding, HolderRows } from "../generated/sent";
import { Headings } from "./headings";
import { Name } from "./name";

export function Findings({ rows }: { rows: readonly FlavorFinding[] }) {
  return (
    <table>
      <caption>What is short</caption>
      <Headings names={["Flavor", "Reason", "Resource", "Needs", "Free", "Short", "At"]} />
      <tbody>
        {rows.map((row) => (
          <tr key={`${row.flavor} ${row.resource} ${row.reason}`}>
            <th scope="row">
              <bdi>{row.flavor || "all flavors"}</bdi>
            </th>
            <td title={row.detail}>{row.reason}</td>
            <td>{row.resource || row.detail}</td>
            <td>{row.needs}</td>
            <td>{row.most ? `at most ${row.most}` : row.free}</td>
            <td>{row.lacks}</td>
            <td>
              <Name>{row.at}</Name>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const MOST_HOLDERS = 5;

export function Holders({ holders }: { holders: HolderRows }) {
  const groups = [
    ["Queue", holders.queues],
    ["User", holders.users],
    ["Workload", holders.workloads],
  ] as const;
  const what = holders.resource || "the nodes";
  return (
    <table>
      <caption>
        Who holds {what} of flavor <bdi>{holders.flavor}</bdi>
      </caption>
      <Headings names={["Kind", "Name", "Amount", "Pods", "The first ends about"]} />
      <tbody>
        {groups.flatMap(([kind, rows]) =>
          rows
            .filter((row) => row.name !== "")
            .slice(0, MOST_HOLDERS)
            .map((row) => (
              <tr key={`${kind} ${row.name}`}>
                <td>{kind}</td>
                <th scope="row">
                  <Name>{row.name}</Name>
                </th>
                <td>{row.amount}</td>
                <td>{row.pods}</td>
                <td>{row.ends === "" ? "" : new Date(row.ends).toLocaleTimeString()}</td>
              </tr>
            )),
        )}
      </tbody>
    </table>
  );
}
