import { expect, test } from "vitest";
import { changeText, targets } from "../src/change";

const QUEUES = [{ name: "a", flavors: [{ name: "spot", resources: [{ name: "cpu" }, { name: "memory" }] }] }];

test("a change is written as the command takes it", () => {
  expect(changeText("quota", "a/spot/cpu", "+3")).toBe("quota:a/spot/cpu=+3");
  expect(changeText("lost", "spot", "")).toBe("lost:spot");
});

test("targets are what there is of a kind", () => {
  expect(targets("quota", QUEUES, ["spot"])).toEqual(["a/spot/cpu", "a/spot/memory"]);
  expect(targets("lost", QUEUES, ["spot"])).toEqual(["spot"]);
  expect(targets("stop", QUEUES, ["spot"])).toEqual(["a"]);
});
