// The worker's side of each transport.
import { exposeAgent } from '@isoloop/web-worker/worker';
import { expose, releaseProxy, transfer } from 'comlink';
import { batchesOf, forget, makeAgent } from './sources.mjs';

exposeAgent(({ options }) => makeAgent(options));

const ways = {
  async none(job) {
    let events = 0;
    for await (const batch of batchesOf(job)) for (const event of batch) events += event ? 1 : 0;
    return events;
  },
  async calls(job, callback) {
    const answers = [];
    for await (const batch of batchesOf(job))
      for (const event of batch) answers.push(callback(event));
    await Promise.all(answers);
    callback[releaseProxy]();
  },
  async awaitedCalls(job, callback) {
    for await (const batch of batchesOf(job)) for (const event of batch) await callback(event);
    callback[releaseProxy]();
  },
  async messages(job, port) {
    for await (const batch of batchesOf(job)) for (const event of batch) port.postMessage(event);
    port.postMessage(null);
    port.close();
  },
  async batches(job, port) {
    for await (const batch of batchesOf(job)) port.postMessage(batch);
    port.postMessage(null);
    port.close();
  },
  eventStream: (job) =>
    sent(async function* events() {
      for await (const batch of batchesOf(job)) yield* batch;
    }),
  batchStream: (job) => sent(() => batchesOf(job)),
  forget,
};

function sent(chunks) {
  const iterator = chunks();
  const pull = async (controller) => {
    const { done, value } = await iterator.next();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  const stream = new ReadableStream({ pull }, { highWaterMark: 0 });
  return transfer(stream, [stream]);
}

addEventListener('message', ({ data, ports: [port] }) => {
  if (data === 'bench') expose(ways, port);
});
