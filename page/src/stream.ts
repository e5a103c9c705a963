/**
 * One stream of events for all that a tab looks at: browsers open only six connections to a host, for all tabs together.
 *
 * Whoever looks at a part says so; the stream is opened anew with all parts that are looked at then.
 */

import type { Problem } from "./generated/sent";

export interface Listener {
  onPart: (sent: unknown, isFirst: boolean) => void;
  onProblem: (problem: Problem) => void;
  onOpen: (isOpen: boolean) => void;
}

interface Message {
  part?: unknown;
  problem?: Problem;
}

const GATHER_MILLISECONDS = 20;
const RETRY_SECONDS = 3;
const HIDDEN_SECONDS = 30;

export class Stream {
  private readonly listeners = new Map<string, Set<Listener>>();
  private source: EventSource | undefined;
  private opening: ReturnType<typeof setTimeout> | undefined;
  private hiding: ReturnType<typeof setTimeout> | undefined;
  private isHidden = document.visibilityState === "hidden";

  /** `onSignedOut` is called when the server does not know the viewer any more. */
  constructor(private readonly onSignedOut: () => void) {
    document.addEventListener("visibilitychange", () => this.look());
  }

  /** Look at a part, written as the server takes it: `pods?sort=place`. Returns what ends it. */
  listen(part: string, listener: Listener): () => void {
    const known = this.listeners.get(part) ?? new Set();
    known.add(listener);
    this.listeners.set(part, known);
    this.openSoon();
    return () => {
      known.delete(listener);
      if (known.size === 0) this.listeners.delete(part);
      this.openSoon();
    };
  }

  /** A tab that nobody sees lets go of its connection after a moment. */
  private look() {
    clearTimeout(this.hiding);
    if (document.visibilityState === "hidden") {
      this.hiding = setTimeout(() => this.hide(true), HIDDEN_SECONDS * 1000);
    } else if (this.isHidden) {
      this.hide(false);
    }
  }

  private hide(isHidden: boolean) {
    this.isHidden = isHidden;
    this.openSoon();
  }

  private openSoon(milliseconds = GATHER_MILLISECONDS) {
    clearTimeout(this.opening);
    this.opening = setTimeout(() => this.open(), milliseconds);
  }

  private open() {
    this.source?.close();
    this.source = undefined;
    const parts = [...this.listeners.keys()];
    if (parts.length === 0 || this.isHidden) return;
    const address = `/api/live?${new URLSearchParams(parts.map((part) => ["part", part]))}`;
    const source = new EventSource(address);
    this.source = source;
    source.onopen = () => this.tell((listener) => listener.onOpen(true));
    source.onerror = () => this.failed(source, address);
    parts.forEach((part, number) => {
      let isFirst = true;
      source.addEventListener(String(number), (event) => {
        const message: Message = JSON.parse(event.data);
        for (const listener of this.listeners.get(part) ?? []) {
          if (message.problem !== undefined) listener.onProblem(message.problem);
          else listener.onPart(message.part, isFirst);
        }
        if (message.problem === undefined) isFirst = false;
        else if (message.problem.kind === "signedOut") this.onSignedOut();
      });
    });
  }

  /** The browser tries again by itself, but not after an answer that is no stream: then ask why, and try later. */
  private async failed(source: EventSource, address: string) {
    this.tell((listener) => listener.onOpen(false));
    if (source.readyState !== EventSource.CLOSED || source !== this.source) return;
    const problem = await reason(address);
    if (source !== this.source) return;
    if (problem === "signedOut") this.onSignedOut();
    else if (problem !== undefined) this.tell((listener) => listener.onProblem(problem));
    if (problem === undefined || problem === "signedOut" || problem.kind !== "wrongAddress") {
      this.openSoon(RETRY_SECONDS * 1000);
    }
  }

  private tell(what: (listener: Listener) => void) {
    for (const those of this.listeners.values()) for (const listener of those) what(listener);
  }
}

/** Ask as a plain request why there is no stream; undefined: there is one now, or nobody answers. */
async function reason(address: string): Promise<Problem | "signedOut" | undefined> {
  const stop = new AbortController();
  try {
    const response = await fetch(address, { signal: stop.signal });
    if (response.ok) return undefined;
    return response.status === 401 ? "signedOut" : (await response.json()).problem;
  } catch {
    return undefined;
  } finally {
    stop.abort();
  }
}
