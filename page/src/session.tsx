/** Who looks at which cluster, or what to do to be let in. */

import { createContext, useCallback, useContext, useEffect, useState } from "react";
import type { Problem, Session, SignIn } from "./generated/sent";

export type Entrance =
  | { kind: "asking" }
  | { kind: "in"; session: Session }
  | { kind: "out"; signIn: SignIn }
  | { kind: "trouble"; problem: Problem };

export const SessionContext = createContext<Session>({ user: "", cluster: "", namespace: "", ends: false });

export function useSession(): Session {
  return useContext(SessionContext);
}

/** Ask who looks; again when told to. */
export function useEntrance(): [Entrance, () => void] {
  const [entrance, setEntrance] = useState<Entrance>({ kind: "asking" });
  const ask = useCallback(() => {
    entranceNow().then(setEntrance);
  }, []);
  useEffect(ask, [ask]);
  return [entrance, ask];
}

async function entranceNow(): Promise<Entrance> {
  try {
    const response = await fetch("/api/session");
    const body = await response.json();
    if (response.ok) return { kind: "in", session: body };
    if (body.signIn !== undefined) return { kind: "out", signIn: body.signIn };
    return { kind: "trouble", problem: body.problem };
  } catch {
    const message = "The server of this page does not answer.";
    return { kind: "trouble", problem: { kind: "unreachable", message, advice: "Start penstock dashboard again." } };
  }
}
