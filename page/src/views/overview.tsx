/** The whole cluster: what flavors have and who uses it, and the tree of queues. */

import { Link } from "wouter";
import { useAddress } from "../address";
import type { ClusterQueueRow, FlavorRow } from "../generated/sent";
import { useLive } from "../live";
import { Headings } from "../parts/headings";
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
      <Totals counts={namespace === "" ? roots(clusterQueues) : localQueues} />
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

type Counts = Pick<ClusterQueueRow, "pending" | "reserved" | "running">;

/** Queues without a parent: each counts those below it. */
function roots(queues: readonly ClusterQueueRow[] | undefined): readonly Counts[] | undefined {
  return queues?.filter((queue) => queue.depth === 0);
}

function Totals({ counts }: { counts: readonly Counts[] | undefined }) {
  const query = useScopeQuery();
  if (counts === undefined) return null;
  const sum = (count: (one: Counts) => number) => counts.reduce((total, one) => total + count(one), 0);
  const totals: [string, number][] = [
    ["Pending", sum((one) => one.pending)],
    ["Reserved", sum((one) => one.reserved)],
    ["Running", sum((one) => one.running)],
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
      <caption>Flavors of the whole cluster</caption>
      <Headings names={["Flavor", "Nodes ready", "Resource", "Used of capacity", "Free", "Quota"]} />
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
