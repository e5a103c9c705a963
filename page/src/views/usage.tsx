/** What was used, from the history: hours and money, day by day and by who used them; and what became of pods. */

import { lazy, Suspense, useEffect, useState } from "react";
import { only, useAddress } from "../address";
import { type Answer, ask } from "../asking";
import type { UsageReportRow } from "../generated/sent";
import { useLive } from "../live";
import { Loading, ProblemNote, Shown } from "../parts/notes";
import { Runs } from "../parts/runs";
import { UsageTable } from "../parts/usageTable";

const UsageChart = lazy(() => import("../parts/usageChart"));

const BY: readonly [string, string][] = [
  ["clusterQueue", "ClusterQueue"],
  ["namespace", "Namespace"],
  ["localQueue", "LocalQueue"],
  ["user", "User"],
  ["flavor", "Flavor"],
];
const FROM: readonly [string, string][] = [
  ["1d", "Last day"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["90d", "Last 90 days"],
];
const PER: Record<string, string> = { "1d": "day", "7d": "day", "30d": "day", "90d": "week" };

export default function Usage() {
  const { parameters, set } = useAddress();
  const by = parameters.get("by") ?? "clusterQueue";
  const from = parameters.get("from") ?? "7d";
  const namespace = parameters.get("namespace") ?? "";
  const answer = useUsage(namespace, by, from, PER[from] ?? "day");
  // a pod that runs for two days is one pod
  const whole = useUsage(namespace, by, from, "");
  const live = useLive(["runs"], only(parameters, ["namespace"]));
  return (
    <>
      <h1>Usage</h1>
      <div className="tools">
        <Choice title="By" value={by} options={BY} onChoose={(value) => set({ by: value })} />
        <Choice title="Time" value={from} options={FROM} onChoose={(value) => set({ from: value })} />
      </div>
      {answer === undefined && <Loading what="what was used" />}
      {answer?.kind === "refused" && <ProblemNote problem={answer.problem} />}
      {answer?.kind === "told" && (
        <Suspense fallback={<Loading what="the chart" />}>
          <UsageChart rows={answer.told.rows} by={by} />
        </Suspense>
      )}
      {whole?.kind === "told" && <UsageTable rows={whole.told.rows} by={by} title={titleOf(by)} />}
      <h2>Pods</h2>
      <Shown live={live} name="runs" what="the history">
        <Runs rows={live.parts.runs ?? []} />
      </Shown>
    </>
  );
}

function titleOf(by: string): string {
  return BY.find(([key]) => key === by)?.[1] ?? by;
}

interface ChoiceProps {
  title: string;
  value: string;
  options: readonly [string, string][];
  onChoose: (value: string) => void;
}

function Choice({ title, value, options, onChoose }: ChoiceProps) {
  return (
    <label>
      {title}
      <select value={value} onChange={(event) => onChoose(event.target.value)}>
        {options.some(([key]) => key === value) ? null : <option>{value}</option>}
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Ask again whenever something else is asked; undefined: the answer is on its way. */
function useUsage(namespace: string, by: string, from: string, per: string): Answer<UsageReportRow> | undefined {
  const [answer, setAnswer] = useState<Answer<UsageReportRow>>();
  useEffect(() => {
    const stop = new AbortController();
    setAnswer(undefined);
    const query = namespace === "" ? "" : `?${new URLSearchParams({ namespace })}`;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const spec = { by: [by], from, per, zone };
    ask<UsageReportRow>(`/api/usage${query}`, spec, stop.signal).then((found) => {
      if (found.kind !== "stopped") setAnswer(found);
    });
    return () => stop.abort();
  }, [namespace, by, from, per]);
  return answer;
}
