/** Which namespace is looked at: one, or all that the viewer may see. */

import { useAddress } from "../address";
import { useSession } from "../session";
import { Typed } from "./typed";

export function Scope() {
  const { parameters, set } = useAddress();
  const session = useSession();
  return (
    <Typed
      label="Namespace"
      className="scope"
      list="namespaces"
      placeholder="all"
      spellCheck={false}
      autoComplete="off"
      value={parameters.get("namespace") ?? ""}
      onTyped={(namespace) => set({ namespace }, true)}
    >
      <datalist id="namespaces">
        <option value={session.namespace} />
      </datalist>
    </Typed>
  );
}

/** The part of an address that says the namespace, to put behind a path. */
export function useScopeQuery(): string {
  const { parameters } = useAddress();
  const namespace = parameters.get("namespace");
  return namespace === null ? "" : `?${new URLSearchParams({ namespace })}`;
}
