import { edgeCells } from './edge-cells.ts';
import { indexedDbCells } from './indexed-db-cells.ts';
import type { RecoveryCell, RecoveryStore } from './recovery-cell.ts';

/** Cells of one kind of host, and the test that drives them. */
export interface HostCells {
  /** Path of the test, from the root. It fails if a promised cell has no driver. */
  readonly test: string;
  /** Name under which the test imports the cells. */
  readonly name: string;
  readonly stores: readonly RecoveryStore[];
  readonly cells: readonly RecoveryCell[];
}

/** All cells of the recovery matrix. */
export const recoveryHosts: readonly HostCells[] = [
  {
    test: 'packages/web-worker/src/session/recovery.test.ts',
    name: 'indexedDbCells',
    stores: ['IndexedDB'],
    cells: indexedDbCells,
  },
  {
    test: 'packages/edge/src/session/recovery.test.ts',
    name: 'edgeCells',
    stores: ['KV', 'Durable Object'],
    cells: edgeCells,
  },
];
