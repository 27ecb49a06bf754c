import { expect, test } from 'vitest';
import { indexedDbCells, type IndexedDbCell } from '@test/recovery/indexed-db-cells.ts';
import { extent } from '@test/test-extent.ts';
import { driveCell, pointsOf } from '../../test-support/recovery/drive-cell.ts';

// Drives each possible cell of docs/recovery.md with real pages, workers, locks and IndexedDB. In
// `npm test`, the failure comes at one event of the action, which differs between cells. In
// `npm run test:long`, it comes at each event.

const promised = indexedDbCells.filter(({ isPossible }) => isPossible);
const counts = new Map<string, Promise<number>>();

/** Number of conversations at a time in `npm run test:long`. */
const lanes = 4;

test.for(promised.map((cell, index) => [nameOf(cell), cell, index] as const))(
  '%s',
  async ([, cell, index]) => {
    const count = await countOf(cell);
    expect(count).toBeGreaterThan(10);
    const chosen = (index * 7) % count;
    const drives = extent({ quick: 1, full: count });
    let begun = 0;
    const drive = async (): Promise<void> => {
      while (begun < drives) {
        const point = (chosen + begun) % count;
        begun += 1;
        await driveAt(cell, point);
      }
    };
    await Promise.all(Array.from({ length: lanes }, drive));
  },
);

test('a promise without a driver fails', async () => {
  const cell = indexedDbCells.find(({ failure }) => failure === 'isolate dies')!;
  await expect(driveCell(cell, 0)).rejects.toThrow('No driver: send, isolate dies, IndexedDB.');
});

/** Drives a cell. The error of a broken promise names the point. */
async function driveAt(cell: IndexedDbCell, point: number): Promise<void> {
  try {
    await driveCell(cell, point);
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`${nameOf(cell)}, at point ${point}: ${message}`, { cause });
  }
}

/** Counts the events of an action without a failure. */
function countOf(cell: IndexedDbCell): Promise<number> {
  const known = counts.get(cell.action) ?? pointsOf(cell);
  counts.set(cell.action, known);
  return known;
}

function nameOf({ action, failure }: IndexedDbCell): string {
  return `IndexedDB: ${action}, ${failure}`;
}
