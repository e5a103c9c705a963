/** Colours of charts, which follow light and dark. */

export const COLOURS = [1, 2, 3, 4, 5, 6].map((number) => `var(--line-${number})`);

export const TOOLTIP = { background: "var(--paper)", color: "var(--ink)", borderColor: "var(--rule)" };
