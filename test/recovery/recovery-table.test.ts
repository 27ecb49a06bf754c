import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { recoveryPage, toRecoveryPage } from '../../scripts/recovery-table.ts';
import { root } from '../../scripts/root.ts';
import type { RecoveryCell } from './recovery-cell.ts';
import { recoveryHosts } from './recovery-cells.ts';

const actions = [
  'send',
  'edit a message',
  'regenerate',
  'approve',
  'edit an approval',
  'deny',
  'inject',
  'page tool',
  'call without input',
];
const failures = ['reload', 'closed tab', 'killed worker', 'second tab takes over', 'isolate dies'];
const stores = recoveryHosts.flatMap((host) => host.stores);
const cells = recoveryHosts.flatMap((host) => host.cells);
const nameOf = ({ action, failure, store }: RecoveryCell): string =>
  [action, failure, store].join(', ');

test('the recovery matrix has each cell once', () => {
  const names = actions.flatMap((action) =>
    failures.flatMap((failure) => stores.map((store) => [action, failure, store].join(', '))),
  );
  expect(cells.map(nameOf).toSorted()).toEqual(names.toSorted());
});

test('each cell says in whole sentences what is promised, or why the failure cannot happen', () => {
  for (const cell of cells) {
    const { outcome } = cell;
    const text = outcome.kind === 'promise' ? outcome.text : outcome.reason;
    expect(text, nameOf(cell)).toMatch(/^[A-Z][^|\n]{15,}\.$/);
  }
});

test('docs/recovery.md is the table of the cells (npm run recovery writes it)', () => {
  expect(readFileSync(recoveryPage, 'utf8')).toBe(toRecoveryPage(recoveryHosts));
});

test('toRecoveryPage() shows a promise, and why a failure cannot happen', () => {
  const cell = { action: 'send', failure: 'reload' } as const;
  const shown = [
    { ...cell, store: 'KV', outcome: { kind: 'promise', text: 'It holds.' } },
    { ...cell, store: 'IndexedDB', outcome: { kind: 'impossible', reason: 'There is none.' } },
  ] as const;
  const page = toRecoveryPage([{ stores: ['IndexedDB', 'KV'], cells: shown }]);
  expect(page).toMatch(/\| send +\| reload +\| Cannot happen\. There is none\. \| It holds\. +\|/);
});

// Each of these tests fails if one of its promised cells has no driver.
test.for(recoveryHosts)('$test drives the cells of $name', ({ test: path, name }) => {
  const source = readFileSync(`${root}/${path}`, 'utf8');
  expect(source).toMatch(new RegExp(`import \\{ ${name}\\b[^}]*\\} from '.*/test/recovery/`));
  expect(source).toMatch(new RegExp(`${name}\\.filter`));
  expect(source).toMatch(/test\.(for|each)\(/);
});
