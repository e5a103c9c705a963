/** LocalQueues: what pods name, and which ClusterQueue each leads to. */

import type { LocalQueueRow } from "../generated/sent";
import { Headings } from "./headings";
import { Name, NameLink } from "./name";

export function LocalQueues({ queues }: { queues: readonly LocalQueueRow[] }) {
  if (queues.length === 0) return <p>There are no LocalQueues here that you may see.</p>;
  return (
    <table>
      <caption>LocalQueues</caption>
      <Headings names={["Namespace", "Name", "ClusterQueue", "Pending", "Reserved", "Running", "Uses"]} />
      <tbody>
        {queues.map((queue) => (
          <tr key={`${queue.namespace}/${queue.name}`} data-inactive={!queue.active}>
            <td>
              <Name>{queue.namespace}</Name>
            </td>
            <th scope="row">
              <Name>{queue.name}</Name>
              {queue.message !== "" && <small>{queue.message}</small>}
            </th>
            <td>
              <NameLink path={["queues", queue.clusterQueue]}>{queue.clusterQueue}</NameLink>
            </td>
            <td>{queue.pending}</td>
            <td>{queue.reserved}</td>
            <td>{queue.running}</td>
            <td>{usesOf(queue)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function usesOf(queue: LocalQueueRow): string {
  const uses = queue.flavors.flatMap((flavor) =>
    flavor.resources.filter((one) => one.used !== "0").map((one) => `${flavor.name} ${one.name} ${one.used}`),
  );
  return uses.join(", ");
}
