/** What a queue has used since somebody looks: kept while the page is open, for a chart of the last minutes. */

import { useEffect, useState } from "react";
import type { ClusterQueueRow } from "./generated/sent";
import { useNow } from "./now";
import { quantity } from "./quantity";

export interface Sample {
  at: number;
  pending: number;
  /** By flavor and resource, as `spot cpu`: the part of the quota that is used, in percent. */
  used: Record<string, number>;
}

const SECONDS = 2;
const MOST = 900;
const KEPT = new Map<string, Sample[]>();

/** Take a sample every two seconds, of a queue that changes or does not, and return all of them. */
export function useSamples(name: string, queue: ClusterQueueRow | undefined): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>(KEPT.get(name) ?? []);
  const now = useNow(SECONDS);
  useEffect(() => {
    const known = KEPT.get(name) ?? [];
    const all = queue === undefined ? known : [...known, sample(queue, now)].slice(-MOST);
    KEPT.set(name, all);
    setSamples(all);
  }, [name, queue, now]);
  return samples;
}

export function sample(queue: ClusterQueueRow, at: number): Sample {
  const used: Record<string, number> = {};
  for (const flavor of queue.flavors) {
    for (const one of flavor.resources) {
      const quota = quantity(one.quota);
      if (quota > 0) used[`${flavor.name} ${one.name}`] = Math.round((100 * quantity(one.used)) / quota);
    }
  }
  return { at, pending: queue.pending, used };
}
