// The page's side of each transport. Each way of transport passes each event to `take`.
import { connectAgent } from '@isoloop/web-worker';
import { proxy, transfer, wrap } from 'comlink';
import { chars } from './sources.mjs';

const counted = { received: 0, sent: 0 };
if (location.search === '?count') countMessages();

const worker = new Worker('/static/worker.js', { type: 'module' });
const { port1, port2 } = new MessageChannel();
worker.postMessage('bench', [port2]);
const remote = wrap(port1);
const agents = new Map();

const ways = {
  none: (job) => remote.none(job),
  'isoloop-events': async ({ kind }, take) => {
    for await (const event of agentOf(kind).stream('go')) take(event);
  },
  'isoloop-batches': async ({ kind }, take) => {
    for await (const batch of agentOf(kind).stream('go').batches()) batch.forEach(take);
  },
  'comlink-awaited': (job, take) => remote.awaitedCalls(job, proxy(take)),
  comlink: (job, take) => remote.calls(job, proxy(take)),
  'message-event': onPort((job, port) => remote.messages(job, port)),
  'message-batch': onPort((job, port) => remote.batches(job, port)),
  'stream-event': async (job, take) => readAll(await remote.eventStream(job), take),
  'stream-batch': async (job, take) => readAll(await remote.batchStream(job), take),
};

/** Returns milliseconds per run: the mean of `times` consecutive runs. */
async function run(way, job, times) {
  let seen = 0;
  const take = (event) => {
    if (event.type === 'reasoning-chunk' || event.type === 'text-delta') seen += event.delta.length;
  };
  const begin = performance.now();
  for (let time = 0; time < times; time++) await ways[way](job, take);
  const wall = performance.now() - begin;
  if (way !== 'none' && seen !== chars * times)
    throw new Error(`${way}: ${seen} characters instead of ${chars * times}`);
  return wall / times;
}

async function forget() {
  await remote.forget();
  for (const agent of agents.values()) await agent.clear();
}

/** Counts the messages of one run in both directions. */
async function count(way, job) {
  await run(way, job, 1);
  Object.assign(counted, { received: 0, sent: 0 });
  await run(way, job, 1);
  return counted;
}

globalThis.bench = { run, count, forget };

function agentOf(kind) {
  if (!agents.has(kind)) agents.set(kind, connectAgent(worker, { sessionId: kind, options: kind }));
  return agents.get(kind);
}

function onPort(start) {
  return (job, take) =>
    new Promise((resolve, reject) => {
      const channel = new MessageChannel();
      channel.port1.addEventListener('message', ({ data }) => {
        if (Array.isArray(data)) return data.forEach(take);
        if (data !== null) return take(data);
        channel.port1.close();
        return resolve();
      });
      channel.port1.start();
      start(job, transfer(channel.port2, [channel.port2])).catch(reject);
    });
}

async function readAll(stream, take) {
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (Array.isArray(read.value)) read.value.forEach(take);
    else take(read.value);
  }
}

function countMessages() {
  const { start, postMessage } = MessagePort.prototype;
  const known = new WeakSet();
  MessagePort.prototype.start = function countReceived() {
    // Adds one listener per port, although Comlink starts the port at every call.
    if (!known.has(this)) this.addEventListener('message', () => (counted.received += 1));
    known.add(this);
    start.call(this);
  };
  MessagePort.prototype.postMessage = function countSent(...message) {
    counted.sent += 1;
    postMessage.apply(this, message);
  };
}
