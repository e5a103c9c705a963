import { expect, test } from "vitest";
import { changed, only } from "../src/address";

test("changes replace, and empty ones remove", () => {
  const known = new URLSearchParams("filter=a:1&filter=b:2&sort=place&namespace=n");
  const found = changed(known, { filter: ["b:2"], sort: "" });
  expect(found.toString()).toBe("namespace=n&filter=b%3A2");
});

test("only what is named is left", () => {
  expect(only(new URLSearchParams("a=1&b=2&a=3"), ["a"]).toString()).toBe("a=1&a=3");
});
