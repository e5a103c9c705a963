/** Which namespace is looked at: one, or all that the viewer may see. */

import { useAddress } from "../address";
import { useSession } from "../session";

export function Scope() {
  const { parameters, set } = useAddress();
  const session = useSession();
  return (
    <label className="scope">
      Namespace
      <input
        type="search"
        list="namespaces"
        placeholder="all"
        spellCheck={false}
        autoComplete="off"
        value={parameters.get("namespace") ?? ""}
        onChange={(event) => set({ namespace: event.target.value.trim() }, true)}
      />
      <datalist id="namespaces">
        <option value={session.namespace} />
      </datalist>
    </label>
  );
}

/** The part of an address that says the namespace, to put behind a path. */
export function useScopeQuery(): string {
  const { parameters } = useAddress();
  const namespace = parameters.get("namespace");
  return namespace === null ? "" : `?${new URLSearchParams({ namespace })}`;
}
