import { openRuntime as openNode } from './node.mjs';

/**
 * Node, warmed up four times as long and collecting garbage when it likes. A forced full collection between runs drops the hidden
 * classes of which no object is alive, and with them optimised code; in a process that serves several answers at a time some always is.
 */
export async function openRuntime(options) {
  return { ...(await openNode({ ...options, collect: false })), warmFactor: 4 };
}
