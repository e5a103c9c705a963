/** The columns of a table of pods. */

import type { ReactNode } from "react";
import type { PodRow } from "../generated/sent";
import { age, startsIn } from "../time";
import { Name, NameLink } from "./name";

export interface PodColumn {
  /** As the server calls it, which sorts and groups by it; null: it does neither. */
  key: string | null;
  title: string;
  cell: (row: PodRow, now: number) => ReactNode;
  /** As CSS grid writes it. */
  width: string;
  /** Whether small screens leave it out. */
  isWide?: boolean;
}

export const HIDDEN = "(hidden)";

export const POD_COLUMNS: readonly PodColumn[] = [
  { key: "place", title: "Place", cell: (row) => row.place || "", width: "4rem" },
  { key: "name", title: "Pod", cell: podName, width: "minmax(12rem, 3fr)" },
  {
    key: "namespace",
    title: "Namespace",
    cell: (row) => <Name>{row.namespace}</Name>,
    width: "minmax(6rem, 1fr)",
    isWide: true,
  },
  { key: "state", title: "State", cell: (row) => <State state={row.state} />, width: "6rem" },
  {
    key: "reason",
    title: "Reason",
    cell: (row) => <span title={row.message}>{row.reason}</span>,
    width: "minmax(8rem, 2fr)",
  },
  { key: "start", title: "Starts in", cell: (row, now) => startsIn(row.start, now), width: "6rem" },
  { key: "since", title: "Since", cell: (row, now) => age(row.since, now), width: "5rem" },
  { key: "clusterQueue", title: "ClusterQueue", cell: queueName, width: "minmax(6rem, 1fr)", isWide: true },
  {
    key: "flavor",
    title: "Flavor",
    cell: (row) => <Name>{row.flavor}</Name>,
    width: "minmax(5rem, 1fr)",
    isWide: true,
  },
  { key: "priority", title: "Priority", cell: (row) => row.priority, width: "5rem", isWide: true },
  { key: "user", title: "User", cell: (row) => <Name>{row.user}</Name>, width: "minmax(5rem, 1fr)", isWide: true },
  { key: null, title: "Requests", cell: requests, width: "minmax(8rem, 2fr)", isWide: true },
];

/** What else can be grouped by. */
export const GROUPS: readonly [string, string][] = [
  ["reason", "Reason"],
  ["state", "State"],
  ["namespace", "Namespace"],
  ["localQueue", "LocalQueue"],
  ["clusterQueue", "ClusterQueue"],
  ["owner", "Owner"],
  ["group", "Gang"],
  ["user", "User"],
  ["flavor", "Flavor"],
  ["node", "Node"],
  ["priority", "Priority"],
];

export function State({ state }: { state: string }) {
  return (
    <span className="state" data-state={state}>
      {state}
    </span>
  );
}

function podName(row: PodRow): ReactNode {
  if (row.name === HIDDEN) return <i>{HIDDEN}</i>;
  return <NameLink path={["pods", row.namespace, row.name]}>{row.name}</NameLink>;
}

function queueName(row: PodRow): ReactNode {
  return row.clusterQueue === "" ? "" : <NameLink path={["queues", row.clusterQueue]}>{row.clusterQueue}</NameLink>;
}

function requests(row: PodRow): string {
  return Object.entries(row.requests)
    .map(([resource, amount]) => `${resource} ${amount}`)
    .join(", ");
}
