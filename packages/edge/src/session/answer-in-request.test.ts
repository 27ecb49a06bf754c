import { ReActAgent, type ChatModel } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';
import { expect, test, vi } from 'vitest';
import { endpoint, newChat } from '../../test-support/tool-endpoint.ts';
import { errorOf } from '../../test-support/refusals.ts';
import { ask, textOf } from '../../test-support/session-client.ts';

test('an answer continues when its client disconnects', async () => {
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const model: ChatModel = {
    provider: 'gated',
    modelId: 'gated',
    features: { tools: true, media: [] },
    async *stream() {
      yield [{ type: 'text', id: 't', delta: 'The ' }];
      await gate;
      yield [
        { type: 'text', id: 't', delta: 'end.' },
        { type: 'finish', reason: 'stop' },
      ];
    },
  };
  const target = endpoint(model);
  const id = newChat();
  const response = await target.post('/api/chat', { id, messages: [ask('Tell me')] });
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  open();
  await target.settled();
  const { messages } = (await (await target.get(`/api/chat/${id}/messages`)).json()) as {
    messages: UIMessage[];
  };
  expect(messages.map(textOf)).toEqual(['Tell me', 'The end.']);
});

test('the endpoint stops an answer that continues too long after its client has left, and stores the partial answer', async () => {
  const target = endpoint([{ text: 'So far ', hang: true }], { limits: { afterDisconnectMs: 0 } });
  const id = newChat();
  const response = await target.post('/api/chat', { id, messages: [ask('Tell me')] });
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  for (let text = ''; !text.includes('far ');) text += decoder.decode((await reader.read()).value);
  await reader.cancel();
  await target.settled();
  const { messages } = (await (await target.get(`/api/chat/${id}/messages`)).json()) as {
    messages: UIMessage[];
  };
  expect(messages.map(textOf)).toEqual(['Tell me', 'So far ']);
});

test('a request to a busy agent gets 409, and a failing agent factory gives 500 without its error message', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const busy = new ReActAgent({ name: 'shared', model: new ScriptedModel([{ hang: true }]) });
  const running = busy.stream('Hi', { detached: true });
  const target = endpoint([], { agent: () => busy });
  const response = await target.post('/api/chat', { id: newChat(), messages: [ask('Hi')] });
  expect([response.status, (await errorOf(response)).code]).toEqual([409, 'AGENT_BUSY']);
  busy.interrupt();
  await running.result;

  const broken = endpoint([], {
    agent: () => {
      throw new Error('SECRET=1');
    },
  });
  const failed = await broken.post('/api/chat', { id: newChat(), messages: [ask('Hi')] });
  expect(failed.status).toBe(500);
  expect(await failed.text()).not.toContain('SECRET');
  log.mockRestore();
});
