import { edgeCells, inKv, inObject } from './edge-cells.ts';
import { inIndexedDb, indexedDbCells } from './indexed-db-cells.ts';
import type { RecoveryCell, StoreRecovery } from './recovery-cell.ts';

/** Cells of one kind of host, and the test that drives them. */
export interface HostCells {
  /** Path of the test, from the root. It fails if a possible cell has no driver. */
  readonly test: string;
  /** Name under which the test imports the cells. */
  readonly name: string;
  readonly cells: readonly RecoveryCell[];
}

/** The promises of all stores, in the order of the page. */
export const recoveries: readonly StoreRecovery[] = [inIndexedDb, inObject, inKv];

/** All cells of the recovery matrix. */
export const recoveryHosts: readonly HostCells[] = [
  {
    test: 'packages/web-worker/src/scenarios/recovery.test.ts',
    name: 'indexedDbCells',
    cells: indexedDbCells,
  },
  {
    test: 'packages/edge/src/scenarios/recovery.test.ts',
    name: 'edgeCells',
    cells: edgeCells,
  },
];
