import { expect, test } from "vitest";
import { part, quantity } from "../src/quantity";

test.each([
  ["2", 2],
  ["1500m", 1.5],
  ["2Gi", 2 * 2 ** 30],
  ["64k", 64_000],
  ["1e3", 1000],
  ["-3", -3],
])("%s is %d", (text, amount) => {
  expect(quantity(text)).toBe(amount);
});

test("what is no quantity is no number", () => {
  for (const text of ["", "cpu", "2 Gi", "2gi"]) expect(quantity(text)).toBeNaN();
});

test("a part lies between nothing and all, and of nothing there is none", () => {
  expect(part("500m", "2")).toBe(0.25);
  expect(part("3", "2")).toBe(1);
  expect(part("3", "0")).toBe(0);
});
