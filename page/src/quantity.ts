/** Kubernetes quantities as numbers, for lengths of bars. What people read is the text that the server sends. */

const SUFFIXES: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Read `1500m`, `2Gi` or `1e3`; what is no quantity is NaN. */
export function quantity(text: string): number {
  const found = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(text);
  if (found === null) return Number.NaN;
  const factor = SUFFIXES[found[2] ?? ""];
  return factor === undefined ? Number.NaN : Number(found[1]) * factor;
}

/** Which part of a whole this is, between 0 and 1; of nothing there is no part. */
export function part(amount: string, whole: string): number {
  const all = quantity(whole);
  return all > 0 ? Math.min(1, Math.max(0, quantity(amount) / all)) : 0;
}
