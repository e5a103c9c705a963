/** How much of what there is is used, as a bar: own quota, what is borrowed beyond it, and what others use. */

import { part, quantity } from "../quantity";

export interface Share {
  /** Which colour: used, borrowed, others or lent. */
  kind: string;
  amount: string;
}

/** The bar is as long as `whole`, or as the shares where these are more. The text says it to who cannot see it. */
export function UseBar({ shares, whole, text }: { shares: readonly Share[]; whole: string; text: string }) {
  const sum = shares.reduce((total, one) => total + quantity(one.amount), 0);
  const length = String(Math.max(quantity(whole), sum));
  return (
    <span className="use">
      <span className="bar" aria-hidden="true">
        {shares.map((one) => (
          <span key={one.kind} data-kind={one.kind} style={{ width: `${100 * part(one.amount, length)}%` }} />
        ))}
        {sum > quantity(whole) && <i style={{ left: `${100 * part(whole, length)}%` }} />}
      </span>
      <span className="amount">{text}</span>
    </span>
  );
}
