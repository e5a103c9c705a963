/** Changes of a setup as text, as `penstock simulate --change` takes them. */

export interface ChangeKind {
  kind: string;
  title: string;
  /** What it is about, and an example of how that is written; then what it becomes, or nothing. */
  target: string;
  value: string;
}

export const CHANGE_KINDS: readonly ChangeKind[] = [
  { kind: "quota", title: "Quota of a queue", target: "QUEUE/FLAVOR/RESOURCE", value: "+32, -8 or 64" },
  { kind: "nodes", title: "Nodes of a flavor", target: "FLAVOR", value: "+4, -2 or 10" },
  { kind: "lost", title: "Lose a flavor", target: "FLAVOR", value: "" },
  { kind: "weight", title: "Weight of a queue", target: "QUEUE", value: "2" },
  { kind: "stop", title: "Stop a queue", target: "QUEUE or NAMESPACE/QUEUE", value: "Hold, HoldAndDrain or None" },
  { kind: "window", title: "Window of a queue", target: "QUEUE/WINDOW", value: "open or closed" },
];

export function changeText(kind: string, target: string, value: string): string {
  return value === "" ? `${kind}:${target}` : `${kind}:${target}=${value}`;
}

/** What may be written as the target of a kind, of what there is. */
export function targets(kind: string, queues: readonly QueueTargets[], flavors: readonly string[]): string[] {
  switch (kind) {
    case "quota":
      return queues.flatMap((queue) =>
        queue.flavors.flatMap((flavor) => flavor.resources.map((one) => `${queue.name}/${flavor.name}/${one.name}`)),
      );
    case "nodes":
    case "lost":
      return [...flavors];
    default:
      return queues.map((queue) => queue.name);
  }
}

interface QueueTargets {
  name: string;
  flavors: readonly { name: string; resources: readonly { name: string }[] }[];
}
