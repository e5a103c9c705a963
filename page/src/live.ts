/** What the server sends while somebody looks. */

import { createContext, useContext, useEffect, useState } from "react";
import type {
  AccuracyRow,
  ClusterQueueRow,
  ExplanationRow,
  FlavorRow,
  LocalQueueRow,
  NodeRow,
  Problem,
  ReasonRow,
  RemedyRow,
  RunRow,
  Timeline,
  Window,
} from "./generated/sent";
import type { Stream } from "./stream";

export interface Parts {
  clusterQueues: ClusterQueueRow[];
  localQueues: LocalQueueRow[];
  flavors: FlavorRow[];
  nodes: NodeRow[];
  /** By ClusterQueue. */
  accuracy: Record<string, AccuracyRow>;
  pods: Window;
  reasons: ReasonRow[];
  runs: RunRow[];
  pod: Timeline;
  explanation: ExplanationRow;
  remedies: RemedyRow[];
}

export type PartName = keyof Parts;

export interface Live {
  parts: Partial<Parts>;
  problems: Partial<Record<PartName, Problem>>;
  /** Whether the stream is open: what is shown is current. */
  isOpen: boolean;
}

const NOTHING: Live = { parts: {}, problems: {}, isOpen: false };

export const StreamContext = createContext<Stream | undefined>(undefined);

/** Look at parts. Parameters that change keep what was shown until the first answer to the new ones. */
export function useLive(names: readonly PartName[], parameters: URLSearchParams): Live {
  const [live, setLive] = useState(NOTHING);
  const stream = useContext(StreamContext);
  const asked = names.join(" ");
  const query = parameters.toString();
  useEffect(() => {
    if (stream === undefined) return;
    const ends = (asked.split(" ") as PartName[]).map((name) =>
      stream.listen(`${name}?${query}`, {
        onPart: (sent, isFirst) => setLive((known) => received(known, name, sent, isFirst)),
        onProblem: (problem) => setLive((known) => ({ ...known, problems: { ...known.problems, [name]: problem } })),
        onOpen: (isOpen) => setLive((known) => ({ ...known, isOpen })),
      }),
    );
    return () => {
      for (const end of ends) end();
    };
  }, [stream, asked, query]);
  return live;
}

function received(known: Live, name: PartName, sent: unknown, isFirst: boolean): Live {
  const { [name]: _, ...problems } = known.problems;
  const part = name === "pods" && !isFirst ? merged(known.parts.pods, sent as Window) : sent;
  return { parts: { ...known.parts, [name]: part }, problems, isOpen: true };
}

/** Put a window together: the server sends the order of its rows, and only those rows that differ from before. */
export function merged(known: Window | undefined, sent: Window): Window {
  const rows = Object.fromEntries(sent.order.map((key) => [key, sent.rows[key] ?? known?.rows[key]]));
  return { ...sent, rows: rows as Window["rows"] };
}
