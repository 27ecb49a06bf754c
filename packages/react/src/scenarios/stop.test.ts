import { tool } from '@isoloop/core';
import type { ScriptedReply, ScriptedStep } from '@isoloop/core/testing';
import { connectAgent, followAgent } from '@isoloop/web-worker';
import { agentEndpoint, type AgentSource } from '@isoloop/react';
import type { UIMessage } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import type { PageFixtureOptions } from '../../../web-worker/test-support/page.ts';
import { chatOver } from '../../../web-worker/test-support/plain-chat.ts';
import { linesOf, mountChat } from '../../../web-worker/test-support/mounted-chat.ts';

const slow = tool({
  name: 'slow',
  description: 'Takes long',
  input: { type: 'object' },
  execute: (_input, { signal }) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    }),
});

const here = tool({
  name: 'here',
  description: 'Says where',
  input: { type: 'object' },
  execute: () => 'in the worker',
});

const nothing: ScriptedStep = { deltas: [], hang: true };
const args = { type: 'tool-input', index: 0, id: 'c', name: 'slow', delta: '{"to":"B' } as const;
const half: ScriptedStep = { deltas: [[{ type: 'text', id: 't', delta: 'half ' }]], hang: true };

/** The replies of the model, and what the chat shows when it is stopped. */
const moments: Readonly<Record<string, readonly [readonly ScriptedStep[], RegExp]>> = {
  'before the first byte': [[nothing], /^user: go/],
  'during reasoning': [
    [{ deltas: [[{ type: 'thinking', id: 'r', delta: 'Hm' }]], hang: true }],
    /assistant: /,
  ],
  'during a text': [[half], /half/],
  'during the input of a tool': [[{ deltas: [[args]], hang: true }], /slow input-streaming/],
  'during a tool': [[{ toolCalls: [{ name: 'slow' }] }], /slow input-available/],
  'between two steps': [[{ toolCalls: [{ name: 'here' }] }, nothing], /here output-available/],
};

interface Place {
  readonly source: () => AgentSource | Worker;
  readonly options: object;
}

function endpointWith(replies: readonly ScriptedReply[]): ChatEndpoint {
  return new ChatEndpoint(replies, { tools: [slow, here] });
}

const places: Readonly<Record<string, (replies: readonly ScriptedStep[]) => Place>> = {
  endpoint(replies) {
    const endpoint = endpointWith(replies);
    return { source: () => agentEndpoint('/api/chat', { fetch: endpoint.fetch }), options: {} };
  },
  worker(replies) {
    const worker = new Worker(
      new URL('../../../web-worker/test-support/page.ts', import.meta.url),
      {
        type: 'module',
      },
    );
    onTestFinished(() => worker.terminate());
    const options = { agent: 'main', timeoutMs: 120_000, options: { replies } };
    return { source: () => worker, options };
  },
};

const cases = Object.keys(places).flatMap((place) =>
  Object.keys(moments).map((moment) => ({ place, moment })),
);

test.each(cases)('a stop $moment shows at a $place what a reload shows', async (each) => {
  const [replies, shown] = moments[each.moment]!;
  const { source, options } = places[each.place]!(replies);
  const sessionId = crypto.randomUUID();
  const view = mountChat(source(), { ...options, sessionId });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  const sending = view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view).join('\n')).toMatch(shown);
  await view.chat().stop();
  await sending;
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(view.chat().error).toBeUndefined();
  const live = view.chat().messages;
  expect(JSON.stringify(live)).not.toMatch(/streaming|input-available/);
  await view.chat().resumeStream();
  const reloaded = view.chat().messages;
  expect(partsOf(live)).toEqual(partsOf(reloaded));
});

/** Returns what a page shows of the messages. Only the stream tells the id of a thought. */
function partsOf(messages: readonly UIMessage[]): readonly object[] {
  return messages.map(({ role, parts }) =>
    parts.map((part) => {
      const { id: _id, ...fields } = part as { readonly id?: string };
      return role === 'user' ? { ...fields, state: 'done' } : fields;
    }),
  );
}

/** Mounts a chat whose endpoint answers `interrupt` as the test says, and begins an answer. */
async function stoppable(
  interrupt: (attempt: number, next: () => Promise<Response>) => Promise<Response>,
  options: object = {},
) {
  const endpoint = endpointWith([half, 'Next.']);
  let attempts = 0;
  const fetch: typeof globalThis.fetch = (url, init) => {
    const next = (): Promise<Response> => endpoint.fetch(url as string, init);
    if (!String(url).endsWith('/interrupt')) return next();
    attempts += 1;
    return interrupt(attempts, next);
  };
  const source = agentEndpoint('/api/chat', { fetch, ...options });
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: half ');
  return { endpoint, view, attempts: () => attempts };
}

const refusal = (code: string, status: number) => async (): Promise<Response> =>
  Response.json({ error: { code, message: 'No.' } }, { status });

const failures: Readonly<Record<string, Parameters<typeof stoppable>>> = {
  UNAUTHORIZED: [refusal('UNAUTHORIZED', 401)],
  OVERLOADED: [refusal('OVERLOADED', 429)],
  INTERNAL: [refusal('INTERNAL', 500)],
  'ENDPOINT_TIMEOUT without a network': [() => Promise.reject(new TypeError('Failed to fetch'))],
  'ENDPOINT_TIMEOUT without an answer': [() => new Promise(() => {}), { timeoutMs: 30 }],
};

test.each(Object.keys(failures))(
  'if a stop fails with %s, the page says so and shows the answer that goes on',
  async (name) => {
    const { endpoint, view } = await stoppable(...failures[name]!);
    await view.chat().stop();
    expect(endpoint.isRunning).toBe(true);
    await expect.poll(() => view.chat().error).toMatchObject({ code: name.split(' ')[0] });
    expect(view.chat().status).toBe('streaming');
    expect(view.chat().isBusy).toBe(true);
  },
);

test('a stop that the endpoint refuses because it is busy is tried again', async () => {
  const { endpoint, view, attempts } = await stoppable((attempt, next) =>
    attempt === 1 ? refusal('OVERLOADED', 429)() : next(),
  );
  await view.chat().stop();
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(endpoint.isRunning).toBe(false);
  expect(view.chat().error).toBeUndefined();
  expect(attempts()).toBe(2);
});

test('two stops at once are one, and a message that waits is sent after them', async () => {
  const { view, attempts } = await stoppable((_attempt, next) => next());
  const next = view.chat().sendMessage({ text: 'next' });
  await Promise.all([view.chat().stop(), view.chat().stop()]);
  await next;
  expect(linesOf(view)).toEqual(['user: go', 'assistant: half ', 'user: next', 'assistant: Next.']);
  expect(attempts()).toBe(1);
});

test('an endpoint in KV, which cannot stop a run, loses its reader', async () => {
  const { view } = await stoppable(refusal('NEEDS_DURABLE_OBJECT', 501));
  await view.chat().stop();
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(view.chat().error).toBeUndefined();
  expect(view.chat().messages[1]!.parts.at(-1)).toMatchObject({ text: 'half ', state: 'done' });
});

test('a stop before the endpoint has answered ends the run that begins later', async () => {
  const endpoint = endpointWith([half]);
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (String(url).endsWith('/api/chat')) await held;
    return endpoint.fetch(url as string, init);
  };
  const source = agentEndpoint('/api/chat', { fetch });
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  const sending = view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().status).toBe('submitted');
  const stopping = view.chat().stop();
  await expect.poll(() => endpoint.requests.at(-1)).toContain('interrupt');
  answer();
  await Promise.all([stopping, sending]);
  await expect.poll(() => endpoint.isRunning).toBe(false);
  await expect.poll(() => view.chat().status).toBe('ready');
});

test.each(Object.keys(moments))(
  'a stop %s of AI SDK’s chat with followAgent() leaves no open part',
  async (moment) => {
    const [replies] = moments[moment]!;
    const worker = new Worker(
      new URL('../../../web-worker/test-support/page.ts', import.meta.url),
      {
        type: 'module',
      },
    );
    onTestFinished(() => worker.terminate());
    const options = { replies } as PageFixtureOptions;
    const link = { agent: 'main', timeoutMs: 120_000, sessionId: crypto.randomUUID(), options };
    const agent = connectAgent(worker, link);
    const chat = chatOver(agent);
    onTestFinished(followAgent(agent, chat));
    await agent.uiMessages();
    const sending = chat.sendMessage({ text: 'go' });
    const watching = agent.watch();
    for await (const { type } of watching) if (begun[moment] === type) break;
    await chat.stop();
    await sending;
    await expect.poll(() => JSON.stringify(chat.messages)).not.toMatch(/streaming|input-available/);
    expect(chat.status).toBe('ready');
  },
);

/** The event after which the test stops the answer. */
const begun: Readonly<Record<string, string>> = {
  'before the first byte': 'pre-reasoning',
  'during reasoning': 'reasoning-chunk',
  'during a text': 'reasoning-chunk',
  'during the input of a tool': 'tool-input-chunk',
  'during a tool': 'pre-acting',
  'between two steps': 'post-acting',
};

test('a stop while the page tries to read a lost answer on shows the log, and no error', async () => {
  const endpoint = endpointWith([half]);
  let isDown = false;
  const fetch: typeof globalThis.fetch = (url, init) =>
    isDown ? Promise.reject(new TypeError('network error')) : endpoint.fetch(url as string, init);
  const source = agentEndpoint('/api/chat', { fetch });
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: half ');
  isDown = true;
  endpoint.dropClients();
  await expect.poll(() => view.chat().status).toBe('continuing');
  isDown = false;
  await view.chat().stop();
  expect(view.chat()).toMatchObject({ status: 'ready', error: undefined });
  expect(endpoint.isRunning).toBe(false);
  expect(linesOf(view)).toEqual(['user: go', 'assistant: half ']);
});
