import { writeFileSync } from 'node:fs';
import type { RecoveryCell } from '../test/recovery/recovery-cell.ts';
import { recoveryHosts, type HostCells } from '../test/recovery/recovery-cells.ts';
import { root } from './root.ts';

// `npm run recovery` writes docs/recovery.md from the cells that the tests drive.

/** Path of the page with the recovery matrix. */
export const recoveryPage: string = `${root}/docs/recovery.md`;

/** Returns the page for the cells. Has one row for each action and failure. */
export function toRecoveryPage(hosts: readonly Pick<HostCells, 'cells' | 'stores'>[]): string {
  const cells = hosts.flatMap((host) => host.cells);
  const stores = hosts.flatMap((host) => host.stores);
  const rows = new Map<string, readonly string[]>();
  for (const { action, failure } of cells)
    rows.set(`${action}, ${failure}`, [
      action,
      failure,
      ...stores.map((store) => textOf(cells, { action, failure, store })),
    ]);
  const heads = ['The user did', 'Then', ...stores];
  return `${introduction}\n${toTable([heads, ...rows.values()])}\n`;
}

const introduction = `# What survives a failure

This table says what happens when a failure comes while the agent answers. "Cannot happen" is followed by the reason. A test drives every other cell. It lets the failure come at one event of the answer, and in \`npm run test:long\` at each event.

\`npm run recovery\` writes this page from the data of the tests in \`test/recovery\`.

- **Reload**: the page is loaded again during the answer.
- **Closed tab**: the page is closed during the answer, and opened again later.
- **Killed worker**: the worker of the page ends during the answer.
- **Second tab takes over**: the first tab ends during the answer, and another tab goes on.
- **Isolate dies**: the isolate at the edge ends during the answer.
- **Call without input**: the last message has no answer, and the client asks the agent to continue.
- **Inject**: the user sends a message while the agent answers another one.
- **Page tool**: a tool that runs on the page: one of \`pageTools()\`, or a tool without \`execute\` of an endpoint.

In IndexedDB, each failure ends the worker, and the next worker continues the run from its log:

- A tool call that had started is interrupted, and its tool does not run again. For a page tool, the user decides whether it runs again.
- If the log has nothing of the action yet, the conversation is unchanged, and the user does it again. The page has then shown no answer, and the model has got nothing.
- If the second tab has asked, it repeats nothing: the next leader gets its request.

For conversations in KV, the answer continues after a disconnect for \`limits.afterDisconnectMs\`, by default 25 seconds. Approvals in KV need the option \`approvals: 'at-least-once'\`.
`;

function textOf(
  cells: readonly RecoveryCell[],
  wanted: Pick<RecoveryCell, 'action' | 'failure' | 'store'>,
): string {
  const outcome = cells.find(
    ({ action, failure, store }) =>
      action === wanted.action && failure === wanted.failure && store === wanted.store,
  )?.outcome;
  if (!outcome) return '';
  return outcome.kind === 'promise' ? outcome.text : `Cannot happen. ${outcome.reason}`;
}

function toTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [line(rows[0]!), line(rule), ...rows.slice(1).map(line)].join('\n');
}

if (import.meta.main) writeFileSync(recoveryPage, toRecoveryPage(recoveryHosts));
