/** Pods to look through: search, filters, groups, and an order, all of it in the address. */

import { useCallback, useEffect, useRef, useState } from "react";
import { only, useAddress } from "../address";
import type { Window } from "../generated/sent";
import { useLive } from "../live";
import { useNow } from "../now";
import { Freshness, Shown } from "./notes";
import { GROUPS } from "./podColumns";
import { PodTable } from "./podTable";
import { Typed } from "./typed";

const IN_ADDRESS = ["namespace", "search", "filter", "sort", "group"];

/** `fixed` are filters that are not in the address and do not go, such as the queue of the view. */
export function PodBrowser({ fixed = "" }: { fixed?: string }) {
  const { parameters, set } = useAddress();
  const [offset, setOffset] = useState(0);
  const asked = only(parameters, IN_ADDRESS);
  if (fixed !== "") asked.append("filter", fixed);
  const whole = asked.toString();
  // another table begins at its first row
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is what makes it another table
  useEffect(() => setOffset(0), [whole]);
  if (offset > 0) asked.set("offset", String(offset));
  const live = useLive(["pods"], asked);
  const window = live.parts.pods;
  const onSort = useCallback((sort: string) => set({ sort }), [set]);
  const now = useNow();
  return (
    <section aria-label="Pods">
      <Tools window={window} />
      <Freshness live={live} />
      <Shown live={live} name="pods" what="pods">
        {window !== undefined && (parameters.get("group") ? <Groups window={window} /> : null)}
        {window !== undefined && !parameters.get("group") && (
          <PodTable
            window={window}
            sort={parameters.get("sort") ?? ""}
            now={now}
            onSort={onSort}
            onOffset={setOffset}
          />
        )}
      </Shown>
    </section>
  );
}

function Tools({ window }: { window: Window | undefined }) {
  const { parameters, set } = useAddress();
  const search = useRef<HTMLInputElement>(null);
  useSlash(search);
  const filters = parameters.getAll("filter");
  return (
    <div className="tools">
      <Typed
        label="Search"
        ref={search}
        placeholder="name, owner, user, node …  ( / )"
        value={parameters.get("search") ?? ""}
        onTyped={(text) => set({ search: text }, true)}
      />
      <label>
        Group by
        <select value={parameters.get("group") ?? ""} onChange={(event) => set({ group: event.target.value })}>
          <option value="">nothing</option>
          {GROUPS.map(([key, title]) => (
            <option key={key} value={key}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {filters.map((filter) => (
        <button
          type="button"
          className="chip"
          key={filter}
          onClick={() => set({ filter: filters.filter((one) => one !== filter) })}
          aria-label={`Remove the filter ${filter}`}
        >
          <bdi>{filter.replace(":", " = ")}</bdi> ×
        </button>
      ))}
      {window !== undefined && (
        <span role="status">
          {window.matched === window.total ? `${window.total} pods` : `${window.matched} of ${window.total} pods`}
        </span>
      )}
    </div>
  );
}

/** Let the key / lead to the search, as in many tools. */
function useSlash(search: React.RefObject<HTMLInputElement | null>) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (event.key !== "/" || isTyping) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [search]);
}

function Groups({ window }: { window: Window }) {
  const { parameters, set } = useAddress();
  const column = parameters.get("group") ?? "";
  const title = GROUPS.find(([key]) => key === column)?.[1] ?? column;
  return (
    <table>
      <caption>Pods by {title.toLowerCase()}</caption>
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col">Pods</th>
          <th scope="col">Pending</th>
          <th scope="col">Reserved</th>
          <th scope="col">Running</th>
        </tr>
      </thead>
      <tbody>
        {window.groups.map((group) => (
          <tr key={group.value}>
            <th scope="row">
              <button
                type="button"
                className="link"
                onClick={() => set({ group: "", filter: [...parameters.getAll("filter"), `${column}:${group.value}`] })}
              >
                <bdi className="name">{group.value || "(none)"}</bdi>
              </button>
            </th>
            <td>{group.pods}</td>
            <td>{group.pending}</td>
            <td>{group.reserved}</td>
            <td>{group.running}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
