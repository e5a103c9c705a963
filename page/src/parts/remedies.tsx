/** Which changes would admit a workload that waits, and the commands that make them. */

import type { RemedyRow } from "../generated/sent";

const WHO: Record<string, string> = {
  WAITING: "by itself",
  OWN: "you",
  SETUP: "whoever looks after the queues",
  QUOTA: "whoever gives quota",
  NODES: "whoever buys nodes",
};

export function Remedies({ rows }: { rows: readonly RemedyRow[] }) {
  if (rows.length === 0) return <p>No single change was found that would admit it.</p>;
  const admits = rows[0]?.admits ?? false;
  return (
    <>
      <p>{admits ? "Each of these was tried, and admits it:" : "No single change admits it. These come first:"}</p>
      <ul className="remedies">
        {rows.map((row) => (
          <li key={row.change}>
            <bdi>{row.change}</bdi> <small>({WHO[row.cost] ?? row.cost})</small>{" "}
            {row.admits ? (
              <>
                onto <bdi>{row.flavors.join(", ")}</bdi>
              </>
            ) : (
              <>
                then {row.reason}: {row.message}
              </>
            )}
            {row.commands.map((command) => (
              <Command key={command} text={command} />
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}

function Command({ text }: { text: string }) {
  return (
    <pre>
      <code>{text}</code>
      <button type="button" onClick={() => navigator.clipboard.writeText(text)}>
        Copy
      </button>
    </pre>
  );
}
