import { textOf, type JsonValue } from '@isoloop/core';
import { connectAgent, type RemoteAgent } from '@isoloop/web-worker';
import { expect, onTestFinished, test } from 'vitest';
import { transfer, wrap } from 'comlink';
import { ends, read, shown } from '../../test-support/tabs-under-test.ts';
import { initialCredits, protocol, type PageMessage, type SessionApi } from '../wire/protocol.ts';
import { rolesOf } from '@test/roles-of.ts';

interface Shared {
  readonly worker: string;
  readonly sessionId: string;
  connect(replies: JsonValue): RemoteAgent;
}

/** Opens a SharedWorker that ends with the test. Without this, it ends with the page. */
function openShared(name: string): SharedWorker {
  const shared = new SharedWorker(new URL('../../test-support/tabs.ts', import.meta.url), {
    type: 'module',
    name,
  });
  onTestFinished(() => {
    shared.port.postMessage({ end: true });
    shared.port.close();
  });
  return shared;
}

/**
 * Prepares a SharedWorker for one test. Each connection opens the same worker as a page does, by
 * script and name.
 */
function share(): Shared {
  const worker = JSON.stringify({ id: crypto.randomUUID() });
  const sessionId = `shared-${crypto.randomUUID()}`;
  return {
    worker,
    sessionId,
    connect(replies) {
      const shared = openShared(worker);
      const agent = connectAgent(shared, {
        timeoutMs: 120_000,
        sessionId,
        options: { replies, database: sessionId },
      });
      onTestFinished(() => agent.close());
      return agent;
    },
  };
}

test('the pages of a SharedWorker share its agent, and one page’s terminate() leaves the others connected', async () => {
  const { connect } = share();
  const [one, two] = [connect(['first', 'second']), connect(['unused'])];
  expect((await one.call('a')).text).toBe('first');
  one.terminate();
  await expect(one.call('b')).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  expect((await two.call('c')).text).toBe('second');
  expect((await two.messages()).map(textOf)).toEqual(['a', 'first', 'c', 'second']);
});

test('a hidden page does not stop its SharedWorker', async () => {
  const agent = share().connect(['still here']);
  await agent.messages();
  window.dispatchEvent(new Event('pagehide'));
  expect((await agent.call('a')).text).toBe('still here');
});

/**
 * Acts as a page that disappears: requests a run, reads until `word` arrives, and releases the
 * page's lock. Resolves when the worker has noticed.
 */
async function comeAndGo(
  worker: string,
  sessionId: string,
  word: string,
  options: JsonValue = null,
): Promise<void> {
  const lock = crypto.randomUUID();
  const [api, run] = [new MessageChannel(), new MessageChannel()];
  const { port } = openShared(worker);
  await navigator.locks.request(lock, async () => {
    port.postMessage(
      {
        protocol,
        type: 'connect',
        agentName: undefined,
        sessionId,
        options,
        offers: [],
        lock,
      } satisfies PageMessage,
      [api.port2],
    );
    const page = wrap<SessionApi>(api.port1);
    const reading = new Promise<void>((resolve) =>
      run.port1.addEventListener('message', ({ data }) => {
        if (JSON.stringify(data).includes(word)) resolve();
      }),
    );
    run.port1.start();
    await page.stream(
      { id: 1, aborted: false, input: 'count', options: {} },
      transfer(run.port2, [run.port2]),
    );
    await reading;
  });
  await expect
    .poll(async () => {
      const { held = [], pending = [] } = await navigator.locks.query();
      return [...held, ...pending].some(({ name }) => name === lock);
    })
    .toBe(false);
}

test('when a page disappears, its run continues for the other pages', async () => {
  const { worker, sessionId, connect } = share();
  const words = Array.from({ length: 4 * initialCredits }, (_, index) => `w${index}`).join(' ');
  const agent = connect([words]);
  await agent.messages();
  const watching = read(agent.watch());
  await comeAndGo(worker, sessionId, 'w0');
  expect(await watching.until(ends)).toMatchObject({ result: { reason: 'stop', text: words } });
  expect(shown(watching.events)).toBe(words);
});

test('when the last page disappears, its run stays open and the next page continues it', async () => {
  const { worker, sessionId, connect } = share();
  const replies = [
    [{ toolCalls: [{ name: 'note', id: 'n1' }] }],
    [{ text: 'half of the old answer', hang: true }],
  ] as unknown as JsonValue;
  await comeAndGo(worker, sessionId, 'half', { replies, database: sessionId });
  const agent = connect(['the new answer']);
  const stream = await agent.chatTransport().reconnectToStream();
  let text = '';
  for await (const chunk of stream!) if (chunk.type === 'text-delta') text += chunk.delta;
  expect(text).toBe('the new answer');
  expect(rolesOf(await agent.messages())).toBe('user assistant tool assistant');
});

test('in a browser without SharedWorker each page starts a worker, and these workers are tabs of the session', async () => {
  const { SharedWorker: taken } = globalThis;
  onTestFinished(() => void Object.assign(globalThis, { SharedWorker: taken }));
  Reflect.deleteProperty(globalThis, 'SharedWorker');
  const sessionId = `not-shared-${crypto.randomUUID()}`;
  const connect = (replies: JsonValue): RemoteAgent => {
    const worker =
      'SharedWorker' in globalThis
        ? new SharedWorker(new URL('../../test-support/tabs.ts', import.meta.url), {
            type: 'module',
          })
        : new Worker(new URL('../../test-support/tabs.ts', import.meta.url), { type: 'module' });
    expect(worker).toBeInstanceOf(Worker);
    onTestFinished(() => (worker as Worker).terminate());
    return connectAgent(worker, {
      timeoutMs: 120_000,
      sessionId,
      options: { replies, database: sessionId },
    });
  };
  const one = connect(['first', 'second']);
  expect((await one.call('a')).text).toBe('first');
  const two = connect(['unused']);
  expect((await two.call('b')).text).toBe('second');
  expect((await one.messages()).map(textOf)).toEqual(['a', 'first', 'b', 'second']);
});

test('a call fails with WORKER_FAILED if the script of its SharedWorker cannot be loaded', async () => {
  const shared = new SharedWorker('/no-such-worker.js', { type: 'module' });
  onTestFinished(() => shared.port.close());
  await expect(connectAgent(shared, { sessionId: 's' }).call('hi')).rejects.toMatchObject({
    code: 'WORKER_FAILED',
  });
});
