import { edgeCells } from './edge-cells.ts';
import type { RecoveryCell } from './recovery-cell.ts';

/** All cells of the recovery matrix. */
export const recoveryCells: readonly RecoveryCell[] = [...edgeCells];
