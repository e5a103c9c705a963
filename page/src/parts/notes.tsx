/** What is shown where there is nothing else: something is wrong, not there yet, or not there at all. */

import type { ReactNode } from "react";
import { useAddress } from "../address";
import type { Problem } from "../generated/sent";
import type { Live, PartName } from "../live";

export function Loading({ what }: { what: string }) {
  return (
    <p className="loading" role="status">
      Loading {what} …
    </p>
  );
}

export function ProblemNote({ problem }: { problem: Problem }) {
  return (
    <div className="problem" role="alert">
      <p>{problem.message}</p>
      {problem.advice !== "" && <p>{problem.advice}</p>}
    </div>
  );
}

const IN_NAMESPACES: readonly PartName[] = ["pods", "localQueues", "runs"];

/** A part of a view: what went wrong with it, or that it is on its way, or what it shows. */
export function Shown({
  live,
  name,
  what,
  children,
}: {
  live: Live;
  name: PartName;
  what: string;
  children: ReactNode;
}) {
  const problem = live.problems[name];
  const namespace = useAddress().parameters.get("namespace");
  return (
    <>
      {problem !== undefined && <ProblemNote problem={problem} />}
      {problem?.kind === "forbidden" && IN_NAMESPACES.includes(name) && !namespace && (
        <p>If you may see one namespace only, enter it at the top of the page.</p>
      )}
      {live.parts[name] !== undefined ? children : problem === undefined && <Loading what={what} />}
    </>
  );
}

/** Whether what is shown is current. */
export function Freshness({ live }: { live: Live }) {
  const isCurrent = live.isOpen && Object.keys(live.problems).length === 0;
  const text = !live.isOpen ? "not connected: trying again" : isCurrent ? "live" : "not current";
  return (
    <span className="fresh" data-open={isCurrent} role="status">
      {text}
    </span>
  );
}
