/** What the server sends while somebody looks: one stream of events for all parts of a view. */

import { useEffect, useState } from "react";
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
  ShareRow,
  Timeline,
  Window,
} from "./generated/sent";

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
  shares: ShareRow[];
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
const HIDDEN_SECONDS = 30;

/** Look at parts. Parameters that change keep what was shown until the first answer to the new ones. */
export function useLive(names: readonly PartName[], parameters: URLSearchParams): Live {
  const [live, setLive] = useState(NOTHING);
  const isVisible = useVisible();
  const address = addressOf(names, parameters);
  useEffect(() => {
    if (!isVisible) return;
    const source = new EventSource(`/api/live?${address}`);
    source.onopen = () => setLive((known) => ({ ...known, isOpen: true }));
    source.onerror = () => setLive((known) => ({ ...known, isOpen: false }));
    let isFirst = true;
    for (const name of namesOf(address)) {
      source.addEventListener(name, (event) => {
        const sent = JSON.parse(event.data);
        setLive((known) => received(known, name, name === "pods" && !isFirst ? merged(known.parts.pods, sent) : sent));
        if (name === "pods") isFirst = false;
      });
    }
    source.addEventListener("problem", (event) => {
      const { part, problem } = JSON.parse(event.data) as { part: PartName; problem: Problem };
      setLive((known) => ({ ...known, problems: { ...known.problems, [part]: problem } }));
    });
    return () => source.close();
  }, [address, isVisible]);
  return live;
}

function addressOf(names: readonly PartName[], parameters: URLSearchParams): string {
  const sent = new URLSearchParams(parameters);
  for (const name of names) sent.append("part", name);
  return sent.toString();
}

function namesOf(address: string): PartName[] {
  return new URLSearchParams(address).getAll("part") as PartName[];
}

function received(known: Live, name: PartName, sent: unknown): Live {
  const { [name]: _, ...problems } = known.problems;
  return { parts: { ...known.parts, [name]: sent }, problems, isOpen: true };
}

/** Put a window together: the server sends the order of its rows, and only those rows that differ from before. */
export function merged(known: Window | undefined, sent: Window): Window {
  const rows = Object.fromEntries(sent.order.map((key) => [key, sent.rows[key] ?? known?.rows[key]]));
  return { ...sent, rows: rows as Window["rows"] };
}

/** Whether somebody sees the page; a moment longer than they do. Browsers open few streams at a time. */
function useVisible(): boolean {
  const [isVisible, setVisible] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (document.visibilityState === "visible") setVisible(true);
      else timer = setTimeout(() => setVisible(false), HIDDEN_SECONDS * 1000);
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return isVisible;
}
