// The 2,000 deltas that a run sends, as events of an agent with a local model or as deltas without
// an agent.
import { ReActAgent } from '@isoloop/core';
import { words } from '../lib/scenarios.mjs';

const texts = words(2000);
export const chars = texts.join('').length;

/**
 * Number of deltas per read of the model, and whether each read comes in a new macrotask, as reads
 * from a network do.
 */
const reads = {
  reads: { size: 80, apart: true },
  'at once': { size: texts.length, apart: false },
  single: { size: 1, apart: false },
};

const hop = macrotasks();

async function* readsOf(kind, toDelta) {
  const { size, apart } = reads[kind];
  for (let at = 0; at < texts.length; at += size) {
    if (apart) await hop();
    yield texts.slice(at, at + size).map(toDelta);
  }
}

export function makeAgent(kind) {
  const model = {
    provider: 'bench',
    modelId: 'bench',
    features: { tools: true, media: [] },
    async *stream() {
      yield* readsOf(kind, (delta) => ({ type: 'text', id: 't', delta }));
      yield [
        { type: 'finish', reason: 'stop', usage: { inputTokens: 10, outputTokens: texts.length } },
      ];
    },
  };
  return new ReActAgent({ name: 'bench', model });
}

const agents = new Map();

/** Returns the batches of one run, from an agent in this thread or without an agent. */
export function batchesOf({ source, kind }) {
  if (source === 'bare')
    return readsOf(kind, (delta) => ({ type: 'text-delta', id: 'msg_1', delta }));
  if (!agents.has(kind)) agents.set(kind, makeAgent(kind));
  return agents.get(kind).stream('go').batches();
}

/** Clears the conversations, so that all repetitions start with the same length. */
export async function forget() {
  for (const agent of agents.values()) await agent.memory.clear();
}

function macrotasks() {
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.addEventListener('message', () => waiting.shift()());
  port1.start();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      port2.postMessage(null);
    });
}
