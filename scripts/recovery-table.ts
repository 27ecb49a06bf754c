import { writeFileSync } from 'node:fs';
import type { RecoveryStore, StoreRecovery } from '../test/recovery/recovery-cell.ts';
import { recoveries } from '../test/recovery/recovery-cells.ts';
import { root } from './root.ts';

// `npm run recovery` writes docs/recovery.md from the promises whose cells the tests drive.

/** Path of the page with the recovery matrix. */
export const recoveryPage: string = `${root}/docs/recovery.md`;

/** Returns the page. Each store has a table of failures and a table of actions. */
export function toRecoveryPage(stores: readonly StoreRecovery[]): string {
  const first =
    'What happens when a failure comes during an answer depends on where the conversation is kept:';
  const top = `# What survives a failure\n\n${first}\n\n${toTable(overview)}\n`;
  return [top, introduction, ...stores.map(sectionOf)].join('\n');
}

/** What the sections say, in short. */
const overview: readonly (readonly string[])[] = [
  ['failure', '[IndexedDB](#indexeddb)', '[Durable Object](#durable-object)', '[KV](#kv)'],
  [
    'the page is reloaded, closed or replaced',
    'the next page continues the run',
    'the run continues',
    'the run continues for up to 25 seconds',
  ],
  [
    'the host of the agent dies',
    'a new worker continues the run',
    'another isolate continues the run',
    'the unfinished turn is lost',
  ],
];

const introduction = `Each section has two tables: what a failure does, and what the conversation then has of the user's last action. A test drives each action with each failure. It lets the failure come at one event of the answer, and in \`npm run test:long\` at each event. "Cannot happen" is followed by the reason.

The failures come during the answer:

- **reload**: the page is loaded again.
- **closed tab**: the page is closed, and opened again later.
- **killed worker**: the worker of the page ends.
- **second tab takes over**: the first tab ends, and another tab goes on.
- **isolate dies**: the isolate at the edge ends.

Three actions need a word:

- **inject**: the user sends a message while the agent answers another one.
- **page tool**: a tool that runs on the page: one of \`pageTools()\`, or a tool without \`execute\` of an endpoint.
- **call without input**: the last message has no answer, and the client asks the agent to continue.

\`npm run recovery\` writes this page from the data of the tests in \`test/recovery\`.
`;

/** What holds for all failures of a store. */
const remarks: Readonly<Record<RecoveryStore, string>> = {
  IndexedDB: `Each failure ends the worker, and the next worker continues the run from its log:

- A tool call that had started is interrupted, and its tool does not run again. For a page tool, the user decides whether it runs again.
- If the log has nothing of the action yet, the conversation is unchanged, and the user does it again. The page has then shown no answer, and the model has got nothing.
- If the second tab has asked, it repeats nothing: the next leader gets its request.`,
  'Durable Object': 'The turn is stored before the run starts, and the run needs no reader.',
  KV: `A turn is stored at its end. After a disconnect, the answer continues for \`limits.afterDisconnectMs\`, by default 25 seconds. Approvals need the option \`approvals: 'at-least-once'\`.`,
};

function sectionOf({ store, failures, actions }: StoreRecovery): string {
  const rows = Object.entries(actions);
  const differs = rows.some(([, action]) => 'afterDeath' in action);
  const failed = Object.entries(failures).map(([failure, text]) => [
    failure,
    typeof text === 'string' ? text : cannot(text.impossible),
  ]);
  const kept = rows.map(([name, action]) => {
    const row = 'impossible' in action ? [cannot(action.impossible), ''] : texts(action);
    return [name, ...row.slice(0, differs ? 2 : 1)];
  });
  const heads = ['the user did', 'then', ...(differs ? ['then, if the isolate died'] : [])];
  const tables = [toTable([['failure', 'what happens'], ...failed]), toTable([heads, ...kept])];
  return `## ${store}\n\n${remarks[store]}\n\n${tables.join('\n\n')}\n`;
}

function texts(action: { readonly kept: string; readonly afterDeath?: string }): readonly string[] {
  return [action.kept, action.afterDeath ?? ''];
}

function cannot(reason: string): string {
  return `Cannot happen. ${reason}`;
}

function toTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`;
  const rule = widths.map((width) => `:${'-'.repeat(width - 1)}`);
  return [line(rows[0]!), line(rule), ...rows.slice(1).map(line)].join('\n');
}

if (import.meta.main) writeFileSync(recoveryPage, toRecoveryPage(recoveries));
