/** What happened, step by step, with how long each took. */

import type { Step } from "../generated/sent";
import { useNow } from "../now";
import { clock, duration } from "../time";

export function Steps({ steps, isOver }: { steps: readonly Step[]; isOver: boolean }) {
  const now = useNow();
  return (
    <ol className="steps" aria-label="What happened">
      {steps.map((step, index) => {
        const next = steps.slice(index + 1).find((one) => one.at !== "")?.at;
        const until = next !== undefined ? Date.parse(next) : now;
        const isLast = next === undefined;
        return (
          <li key={step.what} data-last={isLast}>
            <b>{step.what}</b> <bdi>{step.detail}</bdi>
            {step.at !== "" && <time dateTime={step.at}>{clock(step.at, now)}</time>}
            {step.at !== "" && !(isLast && isOver) && (
              <small>
                {isLast ? "for " : "then "}
                {duration((until - Date.parse(step.at)) / 1000)}
                {isLast ? " so far" : ""}
              </small>
            )}
          </li>
        );
      })}
    </ol>
  );
}
