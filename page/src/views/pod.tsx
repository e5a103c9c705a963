/** One pod: what happened to it, why it waits, who holds what it waits for, and what would admit it. */

import type { ExplanationRow, FlavorFinding, HolderRows, PodRow, RemedyRow, Timeline } from "../generated/sent";
import { useLive } from "../live";
import { useNow } from "../now";
import { Name, NameLink } from "../parts/name";
import { Freshness, ProblemNote, Shown } from "../parts/notes";
import { State } from "../parts/podColumns";
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

function Findings({ rows }: { rows: readonly FlavorFinding[] }) {
  return (
    <table>
      <caption>What is short</caption>
      <thead>
        <tr>
          <th scope="col">Flavor</th>
          <th scope="col">Reason</th>
          <th scope="col">Resource</th>
          <th scope="col">Needs</th>
          <th scope="col">Free</th>
          <th scope="col">Short</th>
          <th scope="col">At</th>
        </tr>
      </thead>
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

function Holders({ holders }: { holders: HolderRows }) {
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
      <thead>
        <tr>
          <th scope="col">Kind</th>
          <th scope="col">Name</th>
          <th scope="col">Amount</th>
          <th scope="col">Pods</th>
          <th scope="col">The first ends about</th>
        </tr>
      </thead>
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

const WHO: Record<string, string> = {
  WAITING: "by itself",
  OWN: "you",
  SETUP: "whoever looks after the queues",
  QUOTA: "whoever gives quota",
  NODES: "whoever buys nodes",
};

function Remedies({ rows }: { rows: readonly RemedyRow[] }) {
  if (rows.length === 0) return <p>No single change was found that would admit it.</p>;
  const admits = rows[0]?.admits ?? false;
  return (
    <>
      <p>{admits ? "Each of these was tried, and admits it:" : "No single change admits it. These come first:"}</p>
      <ul className="remedies">
        {rows.map((row) => (
          <li key={row.change}>
            <bdi>{row.change}</bdi> <small>({WHO[row.cost] ?? row.cost})</small>{" "}
            {row.admits ? (
              <>
                onto <bdi>{row.flavors.join(", ")}</bdi>
              </>
            ) : (
              <>
                then {row.reason}: {row.message}
              </>
            )}
            {row.commands.map((command) => (
              <Command key={command} text={command} />
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}

function Command({ text }: { text: string }) {
  return (
    <pre>
      <code>{text}</code>
      <button type="button" onClick={() => navigator.clipboard.writeText(text)}>
        Copy
      </button>
    </pre>
  );
}
