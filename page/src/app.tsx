/** The frame: who looks at which cluster, the views, and which namespace they are about. */

import { lazy, Suspense, useMemo } from "react";
import { Link, Route, Switch, useRoute } from "wouter";
import { StreamContext } from "./live";
import { Loading, ProblemNote } from "./parts/notes";
import { Scope, useScopeQuery } from "./parts/scope";
import { Theme } from "./parts/theme";
import { SessionContext, useEntrance, useSession } from "./session";
import { Stream } from "./stream";
import { SignInView } from "./views/signIn";

const Overview = lazy(() => import("./views/overview"));
const Queue = lazy(() => import("./views/queue"));
const Pods = lazy(() => import("./views/pods"));
const Pod = lazy(() => import("./views/pod"));
const Nodes = lazy(() => import("./views/nodes"));
const Usage = lazy(() => import("./views/usage"));
const WhatIf = lazy(() => import("./views/whatIf"));

const VIEWS: readonly [string, string, string][] = [
  ["/", "Overview", "/"],
  ["/pods", "Pods", "/pods/*?"],
  ["/nodes", "Nodes", "/nodes"],
  ["/usage", "Usage", "/usage"],
  ["/what-if", "What if", "/what-if"],
];

export function App() {
  const [entrance, ask] = useEntrance();
  const stream = useMemo(() => new Stream(ask), [ask]);
  switch (entrance.kind) {
    case "asking":
      return <Loading what="the page" />;
    case "out":
      return <SignInView signIn={entrance.signIn} onSignedIn={ask} />;
    case "trouble":
      return (
        <main className="alone">
          <ProblemNote problem={entrance.problem} />
          <button type="button" onClick={ask}>
            Try again
          </button>
        </main>
      );
    case "in":
      return (
        <SessionContext value={entrance.session}>
          <StreamContext value={stream}>
            <Frame onSignedOut={ask} />
          </StreamContext>
        </SessionContext>
      );
  }
}

function Frame({ onSignedOut }: { onSignedOut: () => void }) {
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="top">
        <span className="brand">Penstock</span>
        <nav aria-label="Views">
          {VIEWS.map(([path, name, pattern]) => (
            <View key={path} path={path} name={name} pattern={pattern} />
          ))}
        </nav>
        <Scope />
        <Theme />
        <Viewer onSignedOut={onSignedOut} />
      </header>
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<Loading what="the view" />}>
          <Switch>
            <Route path="/" component={Overview} />
            <Route path="/queues/:name">{({ name }) => <Queue name={name} />}</Route>
            <Route path="/pods" component={Pods} />
            <Route path="/pods/:namespace/:name">
              {({ namespace, name }) => <Pod namespace={namespace} name={name} />}
            </Route>
            <Route path="/nodes" component={Nodes} />
            <Route path="/usage" component={Usage} />
            <Route path="/what-if" component={WhatIf} />
            <Route>
              <h1>There is no such view</h1>
              <p>
                <Link href="/">The overview</Link> leads to all of them.
              </p>
            </Route>
          </Switch>
        </Suspense>
      </main>
    </>
  );
}

/** Who looks, and how to end that. */
function Viewer({ onSignedOut }: { onSignedOut: () => void }) {
  const session = useSession();
  if (!session.ends) return <bdi className="viewer">{session.user}</bdi>;
  const signOut = () => fetch("/api/sign-out", { method: "POST" }).then(onSignedOut, onSignedOut);
  return (
    <button type="button" onClick={signOut}>
      Sign out <bdi>{session.user}</bdi>
    </button>
  );
}

function View({ path, name, pattern }: { path: string; name: string; pattern: string }) {
  const [isShown] = useRoute(pattern);
  const query = useScopeQuery();
  return (
    <Link href={`${path}${query}`} aria-current={isShown ? "page" : undefined}>
      {name}
    </Link>
  );
}
