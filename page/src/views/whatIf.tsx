/** What another setup would do: changes, played forward by the controller beside the setup as it is. */

import { type FormEvent, useRef, useState } from "react";
import { useAddress } from "../address";
import { type Answer, ask } from "../asking";
import { CHANGE_KINDS, changeText, targets } from "../change";
import type { SimulationRow } from "../generated/sent";
import { useLive } from "../live";
import { ProblemNote } from "../parts/notes";
import { Outcomes } from "../parts/outcomes";

type Asked = Answer<SimulationRow> | { kind: "asking" };

export default function WhatIf() {
  const { parameters, set } = useAddress();
  const changes = parameters.getAll("change");
  const hours = Number(parameters.get("hours") ?? 24);
  const [asked, setAsked] = useState<Asked>({ kind: "stopped" });
  const stop = useRef<AbortController>(null);
  async function simulate() {
    stop.current = new AbortController();
    setAsked({ kind: "asking" });
    setAsked(await ask("/api/simulations", { changes, hours }, stop.current.signal));
  }
  return (
    <>
      <h1>What if</h1>
      <p>
        The controller plays the queues forward from now, as they are and with your changes, with the same arrivals.
        Nothing in the cluster changes.
      </p>
      <AddChange onAdd={(text) => set({ change: [...changes, text] })} />
      <ul className="changes" aria-label="Changes">
        {changes.map((text) => (
          <li key={text}>
            <button
              type="button"
              className="chip"
              aria-label={`Remove ${text}`}
              onClick={() => set({ change: changes.filter((one) => one !== text) })}
            >
              <bdi>{text}</bdi> ×
            </button>
          </li>
        ))}
      </ul>
      <div className="tools">
        <label>
          Hours
          <input
            type="number"
            min="0.01"
            max="744"
            step="any"
            value={parameters.get("hours") ?? "24"}
            onChange={(event) => set({ hours: event.target.value }, true)}
          />
        </label>
        <button
          type="button"
          className="main"
          onClick={simulate}
          disabled={changes.length === 0 || asked.kind === "asking" || !isLegal(hours)}
        >
          Simulate
        </button>
        {asked.kind === "asking" && (
          <>
            <span className="loading" role="status">
              Simulating: at most half a minute …
            </span>
            <button type="button" onClick={() => stop.current?.abort()}>
              Cancel
            </button>
          </>
        )}
      </div>
      {asked.kind === "refused" && <ProblemNote problem={asked.problem} />}
      {asked.kind === "told" && <Outcomes row={asked.told} />}
    </>
  );
}

function isLegal(hours: number): boolean {
  return hours >= 0.01 && hours <= 744;
}

function AddChange({ onAdd }: { onAdd: (text: string) => void }) {
  const [kind, setKind] = useState("quota");
  const live = useLive(["clusterQueues", "flavors"], new URLSearchParams());
  const { clusterQueues, flavors } = live.parts;
  const chosen = CHANGE_KINDS.find((one) => one.kind === kind);
  const known = targets(
    kind,
    clusterQueues ?? [],
    (flavors ?? []).map((flavor) => flavor.name),
  );
  function add(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    onAdd(changeText(kind, String(data.get("target")).trim(), String(data.get("value") ?? "").trim()));
    event.currentTarget.reset();
  }
  return (
    <form className="tools" onSubmit={add}>
      <label>
        Change
        <select value={kind} onChange={(event) => setKind(event.target.value)}>
          {CHANGE_KINDS.map((one) => (
            <option key={one.kind} value={one.kind}>
              {one.title}
            </option>
          ))}
        </select>
      </label>
      <label>
        Of
        <input name="target" list="targets" required placeholder={chosen?.target} autoComplete="off" />
        <datalist id="targets">
          {known.map((target) => (
            <option key={target} value={target} />
          ))}
        </datalist>
      </label>
      {chosen?.value !== "" && (
        <label>
          To
          <input name="value" required placeholder={chosen?.value} autoComplete="off" />
        </label>
      )}
      <button type="submit">Add</button>
    </form>
  );
}
