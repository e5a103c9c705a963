/** Questions that are asked once: an object is created, and its status is the answer. */

import type { Problem } from "./generated/sent";

export type Answer<T> = { kind: "told"; told: T } | { kind: "refused"; problem: Problem } | { kind: "stopped" };

export async function ask<T>(path: string, spec: object, signal: AbortSignal): Promise<Answer<T>> {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(spec),
      signal,
    });
    const body = await response.json();
    return response.ok ? { kind: "told", told: body.status } : { kind: "refused", problem: body.problem };
  } catch {
    if (signal.aborted) return { kind: "stopped" };
    const message = "The server of this page does not answer.";
    return { kind: "refused", problem: { kind: "unreachable", message, advice: "Try again." } };
  }
}
