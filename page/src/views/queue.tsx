/** One ClusterQueue: its quota and who uses it, its use over time, why pods wait, and its pods in their order. */

import { lazy, Suspense } from "react";
import { useAddress } from "../address";
import type { ClusterQueueRow, ReasonRow } from "../generated/sent";
import { useLive } from "../live";
import { Headings } from "../parts/headings";
import { Name, NameLink } from "../parts/name";
import { Freshness, Loading, Shown } from "../parts/notes";
import { PodBrowser } from "../parts/podBrowser";
import { QuotaBars } from "../parts/queueTree";
import { useSamples } from "../samples";

const UseChart = lazy(() => import("../parts/useChart"));

export default function Queue({ name }: { name: string }) {
  const live = useLive(["clusterQueues", "accuracy", "reasons"], new URLSearchParams({ clusterQueue: name }));
  const queue = live.parts.clusterQueues?.find((one) => one.name === name);
  const samples = useSamples(name, queue);
  return (
    <>
      <h1>
        ClusterQueue <Name>{name}</Name> <Freshness live={live} />
      </h1>
      <Shown live={live} name="clusterQueues" what="the queue">
        {queue === undefined ? <p>There is no such ClusterQueue.</p> : <Summary queue={queue} live={live} />}
      </Shown>
      {queue !== undefined && (
        <Suspense fallback={<Loading what="the chart" />}>
          <UseChart samples={samples} />
        </Suspense>
      )}
      <Shown live={live} name="reasons" what="reasons">
        <Reasons rows={live.parts.reasons ?? []} />
      </Shown>
      <PodBrowser fixed={`clusterQueue:${name}`} />
    </>
  );
}

function Summary({ queue, live }: { queue: ClusterQueueRow; live: ReturnType<typeof useLive> }) {
  const accuracy = live.parts.accuracy?.[queue.name];
  return (
    <>
      {queue.message !== "" && <p className="problem">{queue.message}</p>}
      {queue.usedUp.map((sentence) => (
        <p className="problem" key={sentence}>
          {sentence}
        </p>
      ))}
      <dl className="facts">
        <Fact title="Pending">{queue.pending}</Fact>
        <Fact title="Reserved">{queue.reserved}</Fact>
        <Fact title="Running">{queue.running}</Fact>
        <Fact title="Order">{queue.strategy}</Fact>
        {queue.parent !== "" && (
          <Fact title="Parent">
            <NameLink path={["queues", queue.parent]}>{queue.parent}</NameLink>
          </Fact>
        )}
        {queue.share !== null && <Fact title="Weighted share">{`${(queue.share / 10).toFixed(1)} %`}</Fact>}
        {queue.weight !== null && <Fact title="Weight">{queue.weight}</Fact>}
        {accuracy !== undefined && accuracy.within !== null && (
          <Fact title="Forecasts right">{`${Math.round(100 * accuracy.within)} %`}</Fact>
        )}
        {queue.limits.map((limit) => (
          <Fact key={limit.name} title={`Limit of ${limit.name}`}>{`${limit.used}/${limit.max}`}</Fact>
        ))}
      </dl>
      <QuotaBars queue={queue} />
    </>
  );
}

function Fact({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Reasons({ rows }: { rows: readonly ReasonRow[] }) {
  const { parameters, set } = useAddress();
  if (rows.length === 0) return null;
  return (
    <table>
      <caption>Why pods wait, in the order of the first of each</caption>
      <Headings names={["Reason", "Pods", "The first says"]} />
      <tbody>
        {rows.map((row) => (
          <tr key={row.reason}>
            <th scope="row">
              <button
                type="button"
                className="link"
                onClick={() => set({ filter: [...parameters.getAll("filter"), `reason:${row.reason}`] })}
              >
                {row.reason}
              </button>
            </th>
            <td>{row.pods}</td>
            <td>{row.message}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
