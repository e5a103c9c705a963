import { expect, test } from "vitest";
import type { StartRow } from "../src/generated/sent";
import { age, duration, startRange, startsIn } from "../src/time";

const NOW = Date.parse("2026-11-28T12:00:00Z");

function start(p20: string, p50: string, p90: string): StartRow {
  return {
    forecastAt: "2026-11-28T11:59:00Z",
    p20,
    p50,
    p90,
    unknown: p50 === "" ? "nobody knows how long it runs" : "",
  };
}

test.each([
  [0, "0s"],
  [119, "119s"],
  [120, "2m"],
  [7200, "2h"],
  [200_000, "2d"],
  [-5, "0s"],
])("%d seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test("an age is counted to now", () => {
  expect(age("2026-11-28T11:50:00Z", NOW)).toBe("10m");
  expect(age("", NOW)).toBe("");
});

test("a start is told by its median, its range by the ends", () => {
  const soon = start("2026-11-28T11:59:50Z", "2026-11-28T12:05:00Z", "2026-11-28T12:10:00Z");
  expect(startsIn(soon, NOW)).toBe("5m");
  expect(startRange(soon, NOW)).toBe("now to 10m");
});

test("a start that nobody knows says why", () => {
  expect(startsIn(start("", "", ""), NOW)).toBe("unknown");
  expect(startRange(start("", "", ""), NOW)).toBe("unknown");
  expect(startsIn(null, NOW)).toBe("");
});
