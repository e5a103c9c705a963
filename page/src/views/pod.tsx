/** One pod: what happened to it, why it waits, who holds what it waits for, and what would admit it. */

import type { ExplanationRow, PodRow, Timeline } from "../generated/sent";
import { useLive } from "../live";
import { useNow } from "../now";
import { Findings, Holders } from "../parts/findings";
import { Name, NameLink } from "../parts/name";
import { Freshness, ProblemNote, Shown } from "../parts/notes";
import { State } from "../parts/podColumns";
import { Remedies } from "../parts/remedies";
import { Runs } from "../parts/runs";
import { Steps } from "../parts/steps";
import { startRange } from "../time";

export default function Pod({ namespace, name }: { namespace: string; name: string }) {
  const live = useLive(["pod"], new URLSearchParams({ namespace, pod: name }));
  const isGone = live.problems.pod?.kind === "notFound";
  const pod = isGone ? undefined : live.parts.pod;
  return (
    <>
      <h1>
        Pod <Name>{name}</Name> <Freshness live={live} />
      </h1>
      <p>
        in namespace <Name>{namespace}</Name>
        {pod !== undefined && pod.queue !== "" && (
          <>
            , LocalQueue <Name>{pod.queue}</Name>, <State state={pod.state} />
          </>
        )}
      </p>
      {isGone ? (
        <Gone namespace={namespace} name={name} />
      ) : (
        <Shown live={live} name="pod" what="the pod">
          {pod !== undefined && <Story pod={pod} />}
        </Shown>
      )}
      {pod?.state === "Pending" && <Waiting namespace={namespace} name={name} />}
    </>
  );
}

function Story({ pod }: { pod: Timeline }) {
  if (pod.queue === "") return <p>This pod names no queue: Penstock does not look after it.</p>;
  return <Steps steps={pod.steps} isOver={!["Pending", "Admitted", "Running"].includes(pod.state)} />;
}

/** A pod that is there no longer, as the history has it. */
function Gone({ namespace, name }: { namespace: string; name: string }) {
  const live = useLive(["runs"], new URLSearchParams({ namespace, pod: name }));
  return (
    <>
      <p>There is no pod of this name now.</p>
      <Shown live={live} name="runs" what="the history">
        <Runs rows={live.parts.runs ?? []} />
      </Shown>
    </>
  );
}

function Waiting({ namespace, name }: { namespace: string; name: string }) {
  const asked = new URLSearchParams({ namespace, pod: name, filter: `name:${name}` });
  const live = useLive(["explanation", "remedies", "pods"], asked);
  const told = live.parts.explanation;
  const row = live.parts.pods?.rows[`${namespace}/${name}`];
  return (
    <>
      <section aria-labelledby="why">
        <h2 id="why">Why it waits</h2>
        <Shown live={live} name="explanation" what="the explanation">
          {told !== undefined && <Explanation told={told} row={row} />}
        </Shown>
      </section>
      <section aria-labelledby="what-helps">
        <h2 id="what-helps">What would admit it</h2>
        {live.problems.remedies !== undefined && <ProblemNote problem={live.problems.remedies} />}
        {live.parts.remedies === undefined && live.problems.remedies === undefined && (
          <p className="loading" role="status">
            Trying changes …
          </p>
        )}
        {live.parts.remedies !== undefined && <Remedies rows={live.parts.remedies} />}
      </section>
      {told?.holders.map((holders) => (
        <Holders key={`${holders.flavor} ${holders.resource}`} holders={holders} />
      ))}
    </>
  );
}

function Explanation({ told, row }: { told: ExplanationRow; row: PodRow | undefined }) {
  const now = useNow();
  return (
    <>
      <p>
        <b>{told.reason}</b>: {told.message}
      </p>
      <dl className="facts">
        {told.place > 0 && (
          <div>
            <dt>Place</dt>
            <dd>
              {told.place} in <NameLink path={["queues", told.path[0] ?? ""]}>{told.path[0] ?? ""}</NameLink>
            </dd>
          </div>
        )}
        {row?.start && (
          <div>
            <dt>Starts in</dt>
            <dd>{startRange(row.start, now)}</dd>
          </div>
        )}
        <div>
          <dt>Asks for</dt>
          <dd>
            {Object.entries(told.requests)
              .map(([resource, amount]) => `${amount} ${resource}`)
              .join(", ")}
          </dd>
        </div>
        {told.pods > 1 && (
          <div>
            <dt>Pods admitted together</dt>
            <dd>{told.pods}</dd>
          </div>
        )}
      </dl>
      {told.flavors.length > 0 && <Findings rows={told.flavors} />}
    </>
  );
}
