/** The time, for what is written as so long ago. */

import { useEffect, useState } from "react";

export function useNow(seconds = 1): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000 * seconds);
    return () => clearInterval(timer);
  }, [seconds]);
  return now;
}
