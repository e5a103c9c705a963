/** Times as people read them: how long ago, in how long. */

import type { StartRow } from "./generated/sent";

const UNITS: readonly [string, number][] = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
];

/** Write a number of seconds as kubectl does: 90s, 5m, 3h, 4d. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const found = UNITS.find(([, size]) => whole >= 2 * size);
  return found === undefined ? `${whole}s` : `${Math.floor(whole / found[1])}${found[0]}`;
}

/** How long ago a time was. */
export function age(at: string, now: number): string {
  return at === "" ? "" : duration((now - Date.parse(at)) / 1000);
}

/** In how long a workload starts by the median of its forecasts: `5m`, `now`, `unknown`, or nothing. */
export function startsIn(start: StartRow | null | undefined, now: number): string {
  if (start === null || start === undefined) return "";
  return start.p50 === "" ? "unknown" : until(start.p50, now);
}

/** The range in which a workload starts. */
export function startRange(start: StartRow, now: number): string {
  if (start.p50 === "") return "unknown";
  const [first, last] = [until(start.p20, now), until(start.p90, now)];
  return first === last ? first : `${first} to ${last}`;
}

function until(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  return seconds <= 0 ? "now" : duration(seconds);
}

/** A time of day, with the date where it is not today. */
export function clock(at: string, now: number): string {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date(now).toDateString();
  return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}
