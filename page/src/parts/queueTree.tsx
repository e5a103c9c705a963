/** ClusterQueues as a tree: who waits, what is used of which quota, what is borrowed and lent. */

import type { ClusterQueueRow, ResourceUse } from "../generated/sent";
import { Headings } from "./headings";
import { NameLink } from "./name";
import { UseBar } from "./useBar";

export function QueueTree({ queues }: { queues: readonly ClusterQueueRow[] }) {
  if (queues.length === 0) return <p>There are no ClusterQueues yet.</p>;
  return (
    <table className="tree">
      <caption>ClusterQueues, with all namespaces</caption>
      <Headings names={["Queue", "Pending", "Reserved", "Running", "Share", "Used of quota"]} />
      <tbody>
        {queues.map((queue) => (
          <QueueLine key={queue.name} queue={queue} />
        ))}
      </tbody>
    </table>
  );
}

function QueueLine({ queue }: { queue: ClusterQueueRow }) {
  return (
    <tr data-inactive={!queue.active}>
      <th scope="row" style={{ paddingInlineStart: `${0.5 + 1.25 * queue.depth}rem` }}>
        <NameLink path={["queues", queue.name]}>{queue.name}</NameLink>
        {queue.message !== "" && <small>{queue.message}</small>}
        {queue.usedUp.map((sentence) => (
          <small key={sentence}>{sentence}</small>
        ))}
      </th>
      <td>{queue.pending}</td>
      <td>{queue.reserved}</td>
      <td>{queue.running}</td>
      <td>{queue.share === null ? "" : `${(queue.share / 10).toFixed(1)} %`}</td>
      <td>
        <QuotaBars queue={queue} />
      </td>
    </tr>
  );
}

/** One bar for each resource of each flavor. */
export function QuotaBars({ queue }: { queue: Pick<ClusterQueueRow, "flavors"> }) {
  return (
    <ul className="bars">
      {queue.flavors.flatMap((flavor) =>
        flavor.resources.map((use) => (
          <li key={`${flavor.name} ${use.name}`}>
            <span className="label">
              <bdi>{flavor.name}</bdi> {use.name}
            </span>
            <UseBar
              whole={use.quota}
              text={textOf(use)}
              shares={[
                { kind: "used", amount: own(use) },
                { kind: "borrowed", amount: use.borrowed },
                { kind: "lent", amount: use.lent },
              ]}
            />
          </li>
        )),
      )}
    </ul>
  );
}

/** What of the use is of the queue's own quota: the server says both as text, so it is taken apart by the bar alone. */
function own(use: ResourceUse): string {
  return use.borrowed === "0" ? use.used : use.quota;
}

function textOf(use: ResourceUse): string {
  const moved = [
    [use.borrowed, "borrowed"],
    [use.lent, "lent"],
  ].filter(([amount]) => amount !== "0");
  return [`${use.used}/${use.quota}`, ...moved.map(([amount, what]) => `${amount} ${what}`)].join(", ");
}
