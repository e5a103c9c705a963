/** Names of objects, which may be of any script and of any length. */

import { Link } from "wouter";
import { useScopeQuery } from "./scope";

/** A name in its own direction of writing. It breaks anywhere, since it may have 253 characters. */
export function Name({ children }: { children: string }) {
  return <bdi className="name">{children}</bdi>;
}

/** A link that stays in the namespace that is looked at. */
export function NameLink({ path, children }: { path: readonly string[]; children: string }) {
  const query = useScopeQuery();
  return (
    <Link href={`/${path.map(encodeURIComponent).join("/")}${query}`}>
      <Name>{children}</Name>
    </Link>
  );
}
