/** What is shown where there is nothing else: something is wrong, not there yet, or not there at all. */

import type { ReactNode } from "react";
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
  return (
    <>
      {problem !== undefined && <ProblemNote problem={problem} />}
      {live.parts[name] !== undefined ? children : problem === undefined && <Loading what={what} />}
    </>
  );
}

/** Whether what is shown is current. */
export function Freshness({ live }: { live: Live }) {
  return (
    <span className="fresh" data-open={live.isOpen} role="status">
      {live.isOpen ? "live" : "not connected: trying again"}
    </span>
  );
}
