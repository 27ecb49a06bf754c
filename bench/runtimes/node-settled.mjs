import { openRuntime as openNode } from './node.mjs';

/**
 * Runs the contenders in Node with four times the warm-up and without forced garbage collection. A
 * forced full collection drops the hidden classes (object shapes of V8) that have no live object,
 * and the optimized code for these classes. A process that serves several answers at a time always
 * has live objects of these classes.
 */
export async function openRuntime(options) {
  return { ...(await openNode({ ...options, collect: false })), warmFactor: 4 };
}
