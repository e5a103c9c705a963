import { expect, test } from "vitest";
import type { PodRow, Window } from "../src/generated/sent";
import { merged } from "../src/live";

function window(order: string[], rows: Record<string, string>): Window {
  const named = Object.entries(rows).map(([key, reason]) => [key, { name: key, reason } as PodRow]);
  return { total: 9, matched: 9, offset: 0, states: {}, order, rows: Object.fromEntries(named), groups: [] };
}

test("rows that were not sent again stay, in the new order", () => {
  const known = window(["a", "b"], { a: "old", b: "old" });
  const found = merged(known, window(["b", "c", "a"], { a: "new", c: "new" }));
  expect(found.order).toEqual(["b", "c", "a"]);
  expect(Object.values(found.rows).map((row) => row.reason)).toEqual(["old", "new", "new"]);
});

test("rows that left the window are forgotten", () => {
  const found = merged(window(["a"], { a: "old" }), window(["b"], { b: "new" }));
  expect(Object.keys(found.rows)).toEqual(["b"]);
});
