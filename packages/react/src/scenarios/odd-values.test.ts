import type { LinkedAgent } from '@isoloop/core/host';
import { agentEndpoint, useAgentChat, type AgentSource } from '@isoloop/react';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test } from 'vitest';
import { checkedAgent } from '../source/agent-source.ts';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { linesOf, mountChat } from '../../../web-worker/test-support/mounted-chat.ts';

function startWorker(): Worker {
  const worker = new Worker(new URL('../../../web-worker/test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  return worker;
}

function cycle(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

const oddValues: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  'a cycle': cycle,
  'a BigInt': () => ({ coins: 1n }),
  'a function': () => () => 1,
};

/** Where the agent is, the options of the chat, and the tool that asks for approval. */
type Place = readonly [AgentSource | Worker, object, string];
const places: Readonly<Record<string, () => Place>> = {
  worker() {
    const replies = [{ toolCalls: [{ name: 'here' }] }, 'Done.'];
    const options = { agent: 'main', timeoutMs: 120_000 };
    return [startWorker(), { ...options, options: { replies, needsApproval: ['here'] } }, 'here'];
  },
  endpoint() {
    const { fetch } = new ChatEndpoint([{ toolCalls: [{ name: 'send' }] }, 'Done.']);
    return [agentEndpoint('/api/chat', { fetch }), {}, 'send'];
  },
};
const edits = Object.keys(places).flatMap((place) =>
  Object.keys(oddValues).map((value) => ({ place, value })),
);

test.each(edits)('an edit with $value at a $place leaves the call waiting', async (each) => {
  const [source, options, name] = places[each.place]!();
  const view = mountChat(source, { ...options, sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  await view.chat().approvals[0]!.edit(oddValues[each.value]!());
  await expect.poll(() => view.chat().error).toMatchObject({ code: 'INVALID_DECISION' });
  expect(linesOf(view)[1]).toBe(`assistant: ${name} approval-requested`);
  await view.chat().approvals[0]!.approve();
  await expect.poll(() => linesOf(view)[1]).toContain('Done.');
});

test.each(['a cycle', 'a BigInt', 'a function'])(
  'a result with %s is refused, and the next result is sent',
  async (value) => {
    const replies = [{ toolCalls: [{ name: 'color', id: 'c' }] }, 'Done.'];
    const options = { agent: 'main', timeoutMs: 120_000, options: { replies } };
    const view = mountChat(startWorker(), { ...options, sessionId: crypto.randomUUID() });
    await expect.poll(() => view.chat()?.status).toBe('ready');
    await view.chat().sendMessage({ text: 'go' });
    const result = { tool: 'color', toolCallId: 'c', output: oddValues[value]!() };
    await view.chat().addToolOutput(result as never);
    await expect.poll(() => view.chat().error).toMatchObject({ code: 'INVALID_INPUT' });
    expect(linesOf(view)[1]).toBe('assistant: color input-available');
    await view.chat().addToolOutput({ ...result, output: 'red' } as never);
    await view.chat().sendMessage();
    await expect.poll(() => linesOf(view)[1]).toContain('output-available red | Done.');
  },
);

test.each([
  ['header', { text: 'go' }, { headers: { 'x-name': 'Ĉapelo' } }],
  ['field', { text: 'go', metadata: { coins: 1n } }, {}],
] as const)(
  'a message with a %s that cannot be sent fails at once',
  async (_name, message, options) => {
    const { fetch } = new ChatEndpoint(['Yes.']);
    const view = mountChat(agentEndpoint('/api/chat', { fetch }), {
      sessionId: crypto.randomUUID(),
    });
    await expect.poll(() => view.chat()?.status).toBe('ready');
    await view.chat().sendMessage(message, options);
    expect(view.chat().error).toMatchObject({ code: 'INVALID_INPUT' });
    // Nothing was lost, so nothing is read on.
    expect(view.chat().status).toBe('error');
    await view.chat().sendMessage({ text: 'hi' });
    await expect.poll(() => linesOf(view).at(-1)).toBe('assistant: Yes.');
  },
);

test.each([
  [undefined, 'nothing'],
  [null, 'null'],
  [5, '5'],
  [' ', '" "'],
] as const)('a chat with the session id %j says what came', async (id, words) => {
  const { fetch, requests } = new ChatEndpoint([]);
  const source = agentEndpoint('/api/chat', { fetch });
  const Chat = (): null => {
    useAgentChat(source, { sessionId: id as never });
    return null;
  };
  const errors: unknown[] = [];
  const root = createRoot(document.createElement('div'), {
    onUncaughtError: (error) => void errors.push(error),
  });
  onTestFinished(() => root.unmount());
  root.render(createElement(Chat));
  await expect.poll(() => errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({
    message: expect.stringContaining(`got ${words}.`),
  });
  expect(requests).toEqual([]);
});

test('a worker in place of `agentWorker(worker)` gives an error that names both sources', () => {
  const worker = startWorker() as unknown as LinkedAgent;
  const text =
    "The source of useAgentChat() must be agentEndpoint('/api/chat') or agentWorker(worker).";
  expect(() => checkedAgent(worker, 'useAgentChat()')).toThrow(text);
  expect(() => checkedAgent(undefined, 'useAgentChat()')).toThrow(text);
});
