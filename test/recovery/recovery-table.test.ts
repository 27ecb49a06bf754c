import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { recoveryPage, toRecoveryPage } from '../../scripts/recovery-table.ts';
import { root } from '../../scripts/root.ts';
import { cellsOf, type RecoveryCell } from './recovery-cell.ts';
import { recoveries, recoveryHosts } from './recovery-cells.ts';

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
const stores = recoveries.map(({ store }) => store);
const cells = recoveryHosts.flatMap((host) => host.cells);
const nameOf = ({ action, failure, store }: RecoveryCell): string =>
  [action, failure, store].join(', ');

test('the recovery matrix has each cell once', () => {
  const names = actions.flatMap((action) =>
    failures.flatMap((failure) => stores.map((store) => [action, failure, store].join(', '))),
  );
  expect(cells.map(nameOf).toSorted()).toEqual(names.toSorted());
});

test('each promise and each reason is a whole sentence', () => {
  const textsOf = (entry: string | object): readonly string[] =>
    typeof entry === 'string' ? [entry] : Object.values<string>({ ...entry });
  for (const { store, failures: failed, actions: kept } of recoveries)
    for (const text of [...Object.values(failed), ...Object.values(kept)].flatMap(textsOf))
      expect(text, store).toMatch(/^[A-Z][^|\n]{15,}\.$/);
});

test('a cell is possible if its store has the failure and the action', () => {
  const possible = cells.filter(({ isPossible }) => isPossible).map(nameOf);
  expect(possible).toContain('send, isolate dies, KV');
  expect(possible).not.toContain('send, isolate dies, IndexedDB');
  expect(possible).not.toContain('inject, reload, KV');
  expect(possible).toHaveLength(9 * 4 + 8 * 4 + 9 * 4);
  expect(recoveries.flatMap(cellsOf).map(nameOf).toSorted()).toEqual(cells.map(nameOf).toSorted());
});

test('docs/recovery.md has the promises (npm run recovery writes it)', () => {
  expect(readFileSync(recoveryPage, 'utf8')).toBe(toRecoveryPage(recoveries));
});

test('toRecoveryPage() shows a promise, and why a failure or an action cannot happen', () => {
  const page = toRecoveryPage(recoveries);
  expect(page).toMatch(/^\| isolate dies +\| Cannot happen\. The agent runs in a worker/m);
  expect(page).toMatch(/^\| inject +\| Cannot happen\. No connection .* \| +\|$/m);
  expect(page).toMatch(/^\| deny +\| The denial holds\. +\| The call waits again\./m);
});

// Each of these tests fails if one of its possible cells has no driver.
test.for(recoveryHosts)('$test drives the cells of $name', ({ test: path, name }) => {
  const source = readFileSync(`${root}/${path}`, 'utf8');
  expect(source).toMatch(new RegExp(`import \\{ ${name}\\b[^}]*\\} from '.*test/recovery/`));
  expect(source).toMatch(new RegExp(`${name}\\.filter`));
  expect(source).toMatch(/test\.(for|each)\(/);
});
