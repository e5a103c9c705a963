/** What to do to be let in. */

import { type FormEvent, useState } from "react";
import type { SignIn } from "../generated/sent";

export function SignInView({ signIn, onSignedIn }: { signIn: SignIn; onSignedIn: () => void }) {
  return (
    <main className="alone">
      <h1>Penstock</h1>
      {signIn.kind === "token" ? (
        <TokenForm onSignedIn={onSignedIn} />
      ) : (
        <p>
          Open the address that <code>penstock dashboard</code> printed: it lets you in. It has changed if the command
          was started again.
        </p>
      )}
    </main>
  );
}

function TokenForm({ onSignedIn }: { onSignedIn: () => void }) {
  const [refusal, setRefusal] = useState("");
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    try {
      const response = await fetch("/api/sign-in", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ token }),
      });
      if (response.ok) onSignedIn();
      else setRefusal((await response.json()).problem.message);
    } catch {
      setRefusal("The server of this page does not answer.");
    }
  }
  return (
    <form onSubmit={send}>
      <label>
        Token
        <input name="token" type="password" autoComplete="off" required />
      </label>
      <button type="submit">Sign in</button>
      {refusal !== "" && <p role="alert">{refusal}</p>}
      <p>
        You see what this token may see. To create one: <code>kubectl create token NAME -n NAMESPACE</code>
      </p>
    </form>
  );
}
