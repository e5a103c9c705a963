/** Light or dark: what the system says, unless somebody chose. */

import { useEffect, useState } from "react";

const KEY = "penstock-theme";
const NEXT: Record<string, string> = { system: "light", light: "dark", dark: "system" };

export function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem(KEY) ?? "system");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  const next = NEXT[theme] ?? "system";
  return (
    <button type="button" className="theme" onClick={() => setTheme(next)} title={`Change to ${next}`}>
      Theme: {theme}
    </button>
  );
}
