// Isoloop, read batch by batch, as the worker and edge adapters do.
import { count, makeAgent } from './isoloop.mjs';

export const label = '@isoloop/core, for await over batches';

export async function run(sc, baseURL) {
  const out = { chars: 0, deltas: 0, tools: 0 };
  for await (const batch of makeAgent(sc, baseURL).stream(sc.prompt).batches())
    for (const event of batch) count(out, event);
  return out;
}
