// Measures the memory that a run of the agent uses for a reply of 100,000 deltas. Usage: `npm run
// build`, then `node --expose-gc bench/retained.mjs`.
import { ReActAgent } from '../packages/core/dist/index.js';
import { workload } from './lib/workload.mjs';

const deltas = workload(100_000, 1000);
const perRead = 100;
const text = 'word ';

/**
 * Creates a model whose deltas are made on demand, so that only the run uses memory. `onRead`
 * receives the number of deltas so far.
 */
function model(onRead) {
  return {
    provider: 'bench',
    modelId: 'bench',
    features: { tools: true, media: [] },
    async *stream() {
      for (let read = 0; read < deltas / perRead; read++) {
        await onRead(read * perRead);
        yield Array.from({ length: perRead }, (_unused, index) => ({
          type: 'text',
          id: 't',
          delta: text + String(index).padStart(3),
        }));
      }
      yield [{ type: 'finish', reason: 'stop' }];
    },
  };
}

function heap() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

async function measure(read, options) {
  let before = 0;
  let most = 0;
  const agent = new ReActAgent({
    name: 'a',
    model: model(async (done) => {
      if (done === 0) before = heap();
      // Waits until the reader has read all events so far.
      await new Promise((resolve) => setImmediate(resolve));
      if (done % 10_000 === 0) most = Math.max(most, heap() - before);
    }),
  });
  const stream = agent.stream('go', options);
  const kept = [];
  const events = await read(stream, kept);
  await stream.result;
  const after = heap() - before;
  // The row below uses `kept`, so the kept events are still in memory when `after` is measured.
  return {
    'events read': events,
    'events kept': kept.length,
    'most held, kB': Math.round(most / 1000),
    'at its end, kB': Math.round(after / 1000),
  };
}

async function readAll(stream) {
  let events = 0;
  for await (const _event of stream) events++;
  return events;
}

async function keepAll(stream, kept) {
  for await (const event of stream) kept.push(event);
  return kept.length;
}

const rows = {
  'paced by its reader': await measure(readAll),
  'detached, a fast reader': await measure(readAll, { detached: true }),
  'detached, no reader': await measure(async () => 0, { detached: true }),
  'paced, the reader keeps every event': await measure(keepAll),
};
console.log(`A reply of ${deltas} deltas, ${(deltas * 8) / 1000} kB of text`);
console.table(rows);
