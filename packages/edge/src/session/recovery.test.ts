import { spreadPoints } from '@isoloop/core/testing';
import { beforeAll, expect, test, vi } from 'vitest';
import { edgeCells, type EdgeCell } from '../../../../test/recovery/edge-cells.ts';
import { extent } from '../../../../test/test-extent.ts';
import { driveCell, pointsOf } from '../../test-support/recovery/drive-cell.ts';

// Drives each promised cell of docs/recovery.md. `npm test` lets the failure come at one event of
// the action, `npm run test:long` at each event. The event of a cell is another one in each cell.

const promised = edgeCells.filter(({ outcome }) => outcome.kind === 'promise');
const counts = new Map<string, Promise<number>>();

beforeAll(() => {
  // Killed isolates report errors.
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  return () => log.mockRestore();
});

test.for(promised.map((cell, index) => [nameOf(cell), cell, index] as const))(
  '%s',
  async ([, cell, index]) => {
    const count = await countOf(cell);
    expect(count).toBeGreaterThan(10);
    const quick = Math.floor(((index * 7) % count) + 0);
    const points = extent({ quick: 1, full: count }) === 1 ? [quick] : spreadPoints(count)(count);
    for (const point of points) await driveCell(cell, point);
  },
);

/** Counts the events of an action without a failure, once per store. */
function countOf(cell: EdgeCell): Promise<number> {
  const key = `${cell.store} ${cell.action}`;
  const known = counts.get(key) ?? pointsOf(cell);
  counts.set(key, known);
  return known;
}

function nameOf({ store, action, failure }: EdgeCell): string {
  return `${store}: ${action}, ${failure}`;
}
