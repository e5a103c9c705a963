/** A field whose text counts when its writer pauses, not at each key. */

import { type InputHTMLAttributes, type ReactNode, type Ref, useEffect, useRef, useState } from "react";

const PAUSE_MILLISECONDS = 400;

interface TypedProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "onChange"> {
  label: string;
  value: string;
  onTyped: (text: string) => void;
  ref?: Ref<HTMLInputElement>;
  children?: ReactNode;
}

export function Typed({ label, value, onTyped, className, children, ...rest }: TypedProps) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const send = useRef(onTyped);
  send.current = onTyped;
  // what the address says counts when it changes otherwise, as by a link
  useEffect(() => {
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text.trim();
      send.current(text.trim());
    }, PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label className={className}>
      {label}
      <input type="search" {...rest} value={text} onChange={(event) => setText(event.target.value)} />
      {children}
    </label>
  );
}
