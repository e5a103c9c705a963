/** The whole cluster: what flavors have and who uses it, and the tree of queues. */

import { Link } from "wouter";
import { useAddress } from "../address";
import type { ClusterQueueRow, FlavorRow } from "../generated/sent";
import { useLive } from "../live";
import { LocalQueues } from "../parts/localQueues";
import { Freshness, Shown } from "../parts/notes";
import { QueueTree } from "../parts/queueTree";
import { useScopeQuery } from "../parts/scope";
import { UseBar } from "../parts/useBar";

export default function Overview() {
  const { parameters } = useAddress();
  const namespace = parameters.get("namespace") ?? "";
  const live = useLive(["clusterQueues", "flavors", "localQueues"], new URLSearchParams(namespace && { namespace }));
  const { clusterQueues, flavors, localQueues } = live.parts;
  return (
    <>
      <h1>
        Overview <Freshness live={live} />
      </h1>
      {clusterQueues !== undefined && <Totals queues={clusterQueues} />}
      <Shown live={live} name="flavors" what="flavors">
        <Flavors flavors={flavors ?? []} />
      </Shown>
      <Shown live={live} name="clusterQueues" what="queues">
        <QueueTree queues={clusterQueues ?? []} />
      </Shown>
      <Shown live={live} name="localQueues" what="LocalQueues">
        <LocalQueues queues={localQueues ?? []} />
      </Shown>
    </>
  );
}

function Totals({ queues }: { queues: readonly ClusterQueueRow[] }) {
  const query = useScopeQuery();
  // a queue counts those below it
  const roots = queues.filter((queue) => queue.depth === 0);
  const sum = (count: (queue: ClusterQueueRow) => number) => roots.reduce((total, queue) => total + count(queue), 0);
  const totals: [string, number][] = [
    ["Pending", sum((queue) => queue.pending)],
    ["Reserved", sum((queue) => queue.reserved)],
    ["Running", sum((queue) => queue.running)],
  ];
  return (
    <ul className="totals">
      {totals.map(([state, count]) => (
        <li key={state}>
          <Link href={`/pods${query === "" ? "?" : `${query}&`}filter=state:${state}`}>
            <b>{count}</b> {state.toLowerCase()}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Flavors({ flavors }: { flavors: readonly FlavorRow[] }) {
  if (flavors.length === 0) return <p>There are no ResourceFlavors yet.</p>;
  return (
    <table>
      <caption>Flavors</caption>
      <thead>
        <tr>
          <th scope="col">Flavor</th>
          <th scope="col">Nodes ready</th>
          <th scope="col">Resource</th>
          <th scope="col">Used of capacity</th>
          <th scope="col">Free</th>
          <th scope="col">Quota</th>
        </tr>
      </thead>
      <tbody>{flavors.flatMap(flavorLines)}</tbody>
    </table>
  );
}

function flavorLines(flavor: FlavorRow) {
  return flavor.resources.map((one, index) => (
    <tr key={`${flavor.name} ${one.name}`}>
      {index === 0 && (
        <>
          <th scope="rowgroup" rowSpan={flavor.resources.length}>
            <bdi className="name">{flavor.name}</bdi>
            {flavor.message !== "" && <small>{flavor.message}</small>}
          </th>
          <td rowSpan={flavor.resources.length}>
            {flavor.schedulable} of {flavor.nodes}
          </td>
        </>
      )}
      <td>{one.name}</td>
      <td>
        <UseBar
          whole={one.capacity}
          text={`${one.used}${one.others === "0" ? "" : `+${one.others}`}/${one.capacity}`}
          shares={[
            { kind: "used", amount: one.used },
            { kind: "others", amount: one.others },
          ]}
        />
      </td>
      <td>{one.free}</td>
      <td>{one.quota === "0" ? "" : one.quota}</td>
    </tr>
  ));
}
