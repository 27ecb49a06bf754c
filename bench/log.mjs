// `npm run bench -- log` measures the cost of an append to a session's log, for several lengths of
// the log. Counts the operations, keys and bytes at the store.
import { MemoryStore, SessionMemory, userMessage } from '../packages/core/dist/index.js';
import { workload } from './lib/workload.mjs';

const lengths = workload([10, 100, 1_000, 10_000], [10, 100]);
const appends = 64;

/**
 * Two kinds of stores with different guarantees. Real stores of the same kind have the same
 * figures, because the log decides which operations it runs.
 */
const stores = {
  'compare-and-set (memory, IndexedDB, Durable Object), step': { weak: false, durability: 'step' },
  'neither atomic nor conditional (KV), turn': { weak: true, durability: 'turn' },
};

export async function benchLog() {
  console.log(
    `Node ${process.version}. One append of a message of 100 characters, and its flush. Mean of ${appends}.\n`,
  );
  for (const [name, kind] of Object.entries(stores)) {
    console.log(name);
    console.log(
      ['messages', 'reads', 'writes', 'bytes written', 'µs', 'opening: reads', 'µs']
        .map((word) => word.padStart(16))
        .join(''),
    );
    for (const length of lengths)
      console.log((await costsAt(length, kind)).map((cell) => String(cell).padStart(16)).join(''));
    console.log();
  }
}

async function costsAt(length, { weak, durability }) {
  const inner = new MemoryStore();
  const metered = meter(inner, weak);
  const memory = new SessionMemory(metered.store, 's', { durability });
  await memory.read();
  const append = async (n) => {
    await memory.append([userMessage('x'.repeat(100), { id: `m${n}` })]);
    await memory.flush();
  };
  for (let n = 0; n < length - appends; n++) await append(n);
  metered.reset();
  const count = Math.min(appends, length);
  const start = performance.now();
  for (let n = 0; n < count; n++) await append(`last${n}`);
  const perAppend = ((performance.now() - start) * 1000) / count;
  const { reads, writes, bytes } = metered.reset();
  const opened = performance.now();
  await new SessionMemory(metered.store, 's').read();
  const opening = (performance.now() - opened) * 1000;
  const cells = [
    reads / count,
    writes / count,
    Math.round(bytes / count),
    perAppend.toFixed(0),
    metered.reset().reads,
    opening.toFixed(0),
  ];
  return [length, ...cells];
}

function meter(inner, weak) {
  let counts = { reads: 0, writes: 0, bytes: 0 };
  const read = (operation) => (counts.reads++, operation());
  const write = (operation, ...values) => {
    counts.writes++;
    for (const value of values) counts.bytes += value.length;
    return operation();
  };
  const set = (key, value) => write(() => inner.set(key, value), value);
  const store = {
    features: { ...inner.features, atomic: !weak, compareAndSet: !weak },
    get: (key) => read(() => inner.get(key)),
    getMany: (keys) => read(() => inner.getMany(keys)),
    keys: (prefix) => read(() => inner.keys(prefix)),
    set,
    setMany: async (entries) => {
      if (!weak) return write(() => inner.setMany(entries), ...entries.map(([, value]) => value));
      for (const [key, value] of entries) await set(key, value);
    },
    delete: (keys) => write(() => inner.delete(keys)),
    ...(!weak && {
      compareAndSet: (key, expected, value) =>
        write(() => inner.compareAndSet(key, expected, value), value),
    }),
  };
  const reset = () => {
    const before = counts;
    counts = { reads: 0, writes: 0, bytes: 0 };
    return before;
  };
  return { store, reset };
}
