/** Nodes as a heat map: how much of a resource is free on each, flavor by flavor. */

import { useState } from "react";
import { useAddress } from "../address";
import type { NodeRow } from "../generated/sent";
import { useLive } from "../live";
import { Headings } from "../parts/headings";
import { Freshness, Shown } from "../parts/notes";
import { part } from "../quantity";

export default function Nodes() {
  const live = useLive(["nodes"], new URLSearchParams());
  return (
    <>
      <h1>
        Nodes <Freshness live={live} />
      </h1>
      <Shown live={live} name="nodes" what="nodes">
        <HeatMap nodes={live.parts.nodes ?? []} />
      </Shown>
    </>
  );
}

function HeatMap({ nodes }: { nodes: readonly NodeRow[] }) {
  const { parameters, set } = useAddress();
  const [chosen, setChosen] = useState<string>();
  const resources = [...new Set(nodes.flatMap((node) => node.resources.map((one) => one.name)))].sort();
  const resource = parameters.get("resource") ?? (resources.includes("cpu") ? "cpu" : (resources[0] ?? ""));
  if (nodes.length === 0) return <p>There are no nodes that you may see.</p>;
  const flavors = [...new Set(nodes.map((node) => node.flavor))].sort();
  const node = nodes.find((one) => one.name === chosen);
  return (
    <>
      <div className="tools">
        <label>
          Resource
          <select value={resource} onChange={(event) => set({ resource: event.target.value })}>
            {resources.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <Legend />
      </div>
      {flavors.map((flavor) => (
        <section key={flavor} aria-label={`Flavor ${flavor || "none"}`}>
          <h2>
            <bdi className="name">{flavor || "of no flavor"}</bdi>
          </h2>
          <ul className="heat">
            {nodes
              .filter((one) => one.flavor === flavor)
              .map((one) => (
                <Cell key={one.name} node={one} resource={resource} onChoose={() => setChosen(one.name)} />
              ))}
          </ul>
        </section>
      ))}
      {node !== undefined && <Details node={node} />}
    </>
  );
}

const LEVELS = 5;

/** 0 is full, 5 is empty; a node without the resource has no level. */
function level(node: NodeRow, resource: string): number | undefined {
  const one = node.resources.find((found) => found.name === resource);
  return one === undefined ? undefined : Math.ceil(LEVELS * part(one.free, one.allocatable));
}

function Cell({ node, resource, onChoose }: { node: NodeRow; resource: string; onChoose: () => void }) {
  const one = node.resources.find((found) => found.name === resource);
  const free = one === undefined ? `no ${resource}` : `${one.free} of ${one.allocatable} ${resource} free`;
  const text = `${node.name}: ${node.state}, ${free}, ${node.pods + node.otherPods} pods`;
  return (
    <li>
      <button type="button" data-level={level(node, resource)} data-state={node.state} title={text} onClick={onChoose}>
        <span className="hidden">{text}</span>
      </button>
    </li>
  );
}

function Legend() {
  return (
    <span className="legend" aria-hidden="true">
      full
      {Array.from({ length: LEVELS + 1 }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a level is its index
        <i key={index} data-level={index} />
      ))}
      free
    </span>
  );
}

function Details({ node }: { node: NodeRow }) {
  return (
    <table aria-live="polite">
      <caption>
        Node <bdi className="name">{node.name}</bdi>: {node.state}
      </caption>
      <Headings names={["Resource", "Allocatable", "Used by pods of queues", "By other pods", "Free"]} />
      <tbody>
        {node.resources.map((one) => (
          <tr key={one.name}>
            <th scope="row">{one.name}</th>
            <td>{one.allocatable}</td>
            <td>{one.used}</td>
            <td>{one.others}</td>
            <td>{one.free}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
