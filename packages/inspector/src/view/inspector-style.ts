/**
 * Style of the inspector. A ledger: hairlines, columns that align, figures of one width, and one
 * color for each kind of step. `--isoloop-accent` and `--isoloop-act` change the colors.
 */
export const inspectorStyle = `
:host {
  --page: light-dark(#fbfaf7, #151918);
  --sunken: light-dark(#f1efe9, #1e2422);
  --line: light-dark(#e2dfd6, #2e3734);
  --text: light-dark(#1d2321, #e7ebe9);
  --muted: light-dark(#5b635f, #a0aaa6);
  --accent: var(--isoloop-accent, light-dark(#0b6b62, #5cc8b9));
  --act: var(--isoloop-act, light-dark(#9a5b00, #e2a94f));
  --bad: light-dark(#a3262a, #f08a8a);
  --mono: ui-monospace, 'SF Mono', 'Cascadia Code', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  --cells: 1rem minmax(0, 1fr) clamp(4rem, 18cqi, 14rem) 4.5rem 5rem 4.5rem;
  display: block;
  block-size: 100%;
  container-type: inline-size;
  color: var(--text);
  background: var(--page);
  font: 0.8125rem/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif;
  text-align: start;
}
:host([hidden]), [hidden] { display: none !important; }
*, ::before, ::after { box-sizing: border-box; }
h2, h3, p, ol, ul, dl, dd, pre { margin: 0; padding: 0; }
ol, ul { list-style: none; }
button, select, textarea { font: inherit; color: inherit; }
/* The labels are English and code runs from left to right, but messages may be in any script. */
h2, .text, .about, option, textarea { unicode-bidi: plaintext; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; border-radius: 3px; }

.inspector { display: flex; flex-direction: column; block-size: 100%; min-block-size: 0; }
.head { border-block-end: 1px solid var(--line); }
.bar-row { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1rem; padding: 0.5rem 1rem; }
.bar-row select {
  flex: 0 1 18rem; min-inline-size: 8rem; padding: 0.2rem 0.4rem;
  border: 1px solid var(--line); border-radius: 5px; background: var(--page);
}
.gauge { display: flex; flex: 1; align-items: center; gap: 0.6rem; color: var(--muted); font-variant-numeric: tabular-nums; }
.gauge meter { inline-size: 7rem; block-size: 0.5rem; }
.views { display: flex; margin-inline-start: auto; }
.views button, .actions button {
  padding: 0.2rem 0.65rem; border: 1px solid var(--line); border-radius: 5px;
  background: var(--page); cursor: pointer;
}
.views button { margin-inline-start: -1px; border-radius: 0; color: var(--muted); }
.views button:first-child { border-start-start-radius: 5px; border-end-start-radius: 5px; }
.views button:last-child { border-start-end-radius: 5px; border-end-end-radius: 5px; }
.views button[aria-pressed='true'] { background: var(--sunken); color: var(--text); font-weight: 600; }
.actions { display: flex; flex-wrap: wrap; align-items: center; gap: 0.4rem; }
.actions button:hover:not(:disabled), .views button:hover { border-color: var(--accent); }
.actions button:disabled { opacity: 0.5; cursor: default; }

.columns, .step > summary { display: grid; grid-template-columns: var(--cells); column-gap: 0.75rem; align-items: center; }
.columns { padding: 0 1rem 0.3rem; color: var(--muted); font-size: 0.72rem; }
.columns :nth-child(n + 4) { text-align: end; }
.scroll { flex: 1; min-block-size: 0; overflow: auto; padding-block-end: 1rem; }
/* The columns leave the width of a scrollbar, too, and so stay above the figures. */
.columns { overflow: hidden; }
.columns, .scroll { scrollbar-gutter: stable; }
.empty, .scroll > .problem:not(:empty) { padding: 1.5rem 1rem; }
.empty, .muted, .facts, .about, .role, .origin { color: var(--muted); }
.problem { color: var(--bad); }
.earlier {
  display: block; margin: 0.6rem auto; padding: 0.2rem 0.65rem; border: 1px solid var(--line); border-radius: 5px;
  background: var(--page); cursor: pointer;
}

.run > header {
  position: sticky; inset-block-start: 0; z-index: 1; display: flex; align-items: center; gap: 1rem;
  padding: 0.6rem 1rem 0.45rem; border-block-end: 1px solid var(--line); background: var(--page);
}
.run + .run > header { border-block-start: 1px solid var(--line); margin-block-start: 1.25rem; }
.heading { flex: 1; min-inline-size: 0; }
.run h2 { overflow: hidden; font-size: 0.875rem; font-weight: 600; text-overflow: ellipsis; white-space: nowrap; }
.facts { display: flex; flex-wrap: wrap; align-items: center; gap: 0 0.9rem; font-size: 0.75rem; font-variant-numeric: tabular-nums; }
.facts .end { color: var(--text); }
.facts .running { color: var(--accent); }
.tag { padding-inline: 0.4em; border: 1px solid currentColor; border-radius: 3px; font-size: 0.68rem; line-height: 1.5; }
.tag.live { color: var(--accent); }
.tag.replay { color: var(--act); }

.steps > li { border-block-end: 1px solid var(--line); }
.step > summary { padding: 0.28rem 1rem; cursor: pointer; list-style: none; }
.step > summary::-webkit-details-marker { display: none; }
.step > summary:hover { background: var(--sunken); }
.step > summary:focus-visible { outline-offset: -2px; }
.step[open] > summary { background: var(--sunken); }
.records .step > summary { grid-template-columns: 2.5rem minmax(0, 1fr) 5rem; }
.mark { inline-size: 0.6rem; block-size: 0.6rem; border: 2px solid var(--muted); border-radius: 1px; justify-self: center; }
.reason .mark { border-color: var(--accent); border-radius: 50%; }
.act .mark { border-color: var(--act); background: var(--act); }
.mark.bad { border-color: var(--bad); background: var(--bad); }
.fit .mark, .input .mark { block-size: 2px; border-width: 0 0 2px; }
.what { display: flex; min-inline-size: 0; gap: 0.75rem; align-items: baseline; }
.name { flex: none; min-inline-size: 6.5rem; font-weight: 550; }
.act .name { font-family: var(--mono); font-size: 0.92em; }
.about { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.what.bad .about { color: var(--bad); }
.what .tag { flex: none; color: var(--muted); }
.track { position: relative; block-size: 0.5rem; border-inline-start: 1px solid var(--line); border-inline-end: 1px solid var(--line); }
.bar {
  position: absolute; inset-block: 0; inset-inline-start: var(--from); inline-size: max(2px, var(--share));
  border-radius: 1px; background: var(--muted); opacity: 0.85;
}
.reason .bar { background: var(--accent); }
.act .bar { background: var(--act); }
.error .bar { background: var(--bad); }
.figure { font-family: var(--mono); font-size: 0.92em; font-variant-numeric: tabular-nums; text-align: end; white-space: nowrap; }
.number { color: var(--muted); }
.spoken { position: absolute; overflow: hidden; inline-size: 1px; block-size: 1px; clip-path: inset(50%); }

.body { display: grid; gap: 0.9rem; padding: 0.6rem 1rem 1rem 2.75rem; background: var(--sunken); }
.part { min-inline-size: 0; }
.part h3 { display: inline-block; margin-block-end: 0.25rem; margin-inline-end: 0.6rem; font-size: 0.75rem; font-weight: 600; }
.origin { font-size: 0.75rem; }
.origin.log, .origin.replay { color: var(--act); }
.message, .changes li { display: grid; grid-template-columns: 5.5rem minmax(0, 1fr); gap: 0.75rem; padding-block: 0.3rem; border-block-start: 1px solid var(--line); }
.blocks { display: grid; gap: 0.4rem; min-inline-size: 0; }
.text { overflow-wrap: anywhere; white-space: pre-wrap; max-inline-size: 80ch; }
.thinking { color: var(--muted); font-style: italic; }
.block-title { font-family: var(--mono); font-size: 0.92em; color: var(--act); }
pre {
  overflow: auto; max-block-size: 18rem; padding: 0.4rem 0.6rem; border: 1px solid var(--line); border-radius: 4px;
  background: var(--page); font: 0.75rem/1.5 var(--mono); overflow-wrap: anywhere; white-space: pre-wrap; tab-size: 2;
}
.figures { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; font-variant-numeric: tabular-nums; }
.figures div { display: flex; gap: 0.5rem; }
.figures dt { color: var(--muted); }
.fold > summary { padding-block: 0.2rem; color: var(--muted); cursor: pointer; }
.fork { border-block-start: 1px solid var(--line); padding-block-start: 0.3rem; }
.fork form { display: grid; gap: 0.5rem; padding-block: 0.4rem; }
textarea {
  inline-size: 100%; padding: 0.4rem 0.6rem; border: 1px solid var(--line); border-radius: 4px; resize: vertical;
  background: var(--page); font: 0.75rem/1.5 var(--mono);
}
.extra > .part { padding: 0.6rem 1rem 0.9rem; border-block-end: 1px solid var(--line); background: var(--sunken); }
.extra .run { margin-block-start: 0.6rem; border: 1px solid var(--line); border-radius: 4px; background: var(--page); overflow: hidden; }
.extra .run > header { position: static; }
.export pre { max-block-size: 22rem; margin-block: 0.3rem 0.6rem; white-space: pre; }

@container (inline-size < 40rem) {
  :host { --cells: 1rem minmax(0, 1fr) 4rem 4rem; }
  .columns, .step > summary { grid-template-columns: 1rem minmax(0, 1fr) 4rem 4rem; }
  .track, .columns :nth-child(3), .step:not(.records *) > summary > :nth-child(5), .columns :nth-child(5) { display: none; }
  .what { flex-direction: column; gap: 0; align-items: stretch; }
  .what .tag { align-self: flex-start; }
  .body { padding-inline-start: 1rem; }
  .message, .changes li { grid-template-columns: 1fr; gap: 0.1rem; }
  .run > header { flex-wrap: wrap; }
}
@media (forced-colors: active) {
  .step .bar, .act .mark, .mark.bad { background: CanvasText; forced-color-adjust: none; }
  .step[open] > summary { outline: 1px solid Highlight; outline-offset: -1px; }
  .views button[aria-pressed='true'] { border-color: Highlight; }
}
@media (prefers-reduced-motion: no-preference) {
  .mark.running { animation: pulse 1.4s ease-in-out infinite; }
  @keyframes pulse { 50% { opacity: 0.3; } }
}
`;
