/// <reference path="./provided-context.d.ts" />
import { inject } from 'vitest';

export interface Extent {
  /** Value in every command but `npm run test:long`. */
  readonly quick: number;
  /** Value in `npm run test:long`. */
  readonly full: number;
}

/** Returns the extent of a check in this run: a count or a size. */
export function extent({ quick, full }: Extent): number {
  return inject('long') ? full : quick;
}

/** Returns the seeds of a random test: 0, 1, 2 and so on. */
export function seeds(count: Extent): readonly number[] {
  return Array.from({ length: extent(count) }, (_unused, seed) => seed);
}
