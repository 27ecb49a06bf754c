import { beforeEach, expect, test, vi } from 'vitest';
import { edgeCells, type EdgeCell } from '@test/recovery/edge-cells.ts';
import { extent } from '@test/test-extent.ts';
import { driveCell, pointsOf } from '../../test-support/recovery/drive-cell.ts';

// Drives each possible cell of docs/recovery.md. In `npm test`, the failure comes at one event of
// the action, which differs between cells. In `npm run test:long`, it comes at each event.

const promised = edgeCells.filter(({ isPossible }) => isPossible);
const counts = new Map<string, Promise<number>>();

// Killed isolates report errors.
beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}));

test.for(promised.map((cell, index) => [nameOf(cell), cell, index] as const))(
  '%s',
  async ([, cell, index]) => {
    const count = await countOf(cell);
    expect(count).toBeGreaterThan(10);
    const chosen = (index * 7) % count;
    for (let step = 0; step < extent({ quick: 1, full: count }); step += 1) {
      const point = (chosen + step) % count;
      await driveCell(cell, point);
    }
  },
);

test('a promise without a driver fails', async () => {
  const cell = edgeCells.find(({ failure }) => failure === 'killed worker')!;
  await expect(driveCell(cell, 0)).rejects.toThrow('No driver: send, killed worker, KV.');
});

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
