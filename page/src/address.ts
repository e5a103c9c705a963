/** What is looked at, in the address: whoever gets the address sees the same. */

import { useCallback } from "react";
import { useSearchParams } from "wouter";

export interface Address {
  parameters: URLSearchParams;
  /** Change parameters; empty ones go. Nothing is added to the browser's history for text that is being typed. */
  set: (changes: Record<string, string | string[]>, isTyping?: boolean) => void;
}

export function useAddress(): Address {
  const [parameters, setParameters] = useSearchParams();
  const set = useCallback(
    (changes: Record<string, string | string[]>, isTyping = false) => {
      setParameters((known) => changed(known, changes), { replace: isTyping });
    },
    [setParameters],
  );
  return { parameters, set };
}

/** Return parameters with these changes. */
export function changed(known: URLSearchParams, changes: Record<string, string | string[]>): URLSearchParams {
  const parameters = new URLSearchParams(known);
  for (const [name, value] of Object.entries(changes)) {
    parameters.delete(name);
    for (const one of Array.isArray(value) ? value : [value]) if (one !== "") parameters.append(name, one);
  }
  return parameters;
}

/** Of an address only what these names say. */
export function only(parameters: URLSearchParams, names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...parameters].filter(([name]) => names.includes(name)));
}
