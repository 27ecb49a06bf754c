import { expect, test, vi } from 'vitest';
import { tool, userMessage, type Middleware, type Msg } from '@isoloop/core';
import { textOf } from '../message/msg.ts';
import { scriptedAgent, gate } from '@test/support/scripted-agent.ts';

const texts = (messages: readonly Msg[]): readonly string[] => messages.map(textOf);

test('a message with a used id that is injected before the run has read its log is dropped', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { open, wait } = gate();
  const guard: Middleware = { wrapInput: async (input, next) => (await wait, next(input)) };
  const { agent } = scriptedAgent(['done'], { use: [guard] });
  const call = agent.call(userMessage('go', { id: 'u1' }));
  await Promise.resolve();
  for (const id of ['u1', 'u2'])
    expect(agent.interrupt({ mode: 'inject', messages: userMessage(id, { id }) })).toBe(true);
  open();
  const { reason, warnings } = await call;
  expect(reason).toBe('stop');
  expect(texts(await agent.messages())).toEqual(['go', 'u2', 'done']);
  expect(warnings).toMatchObject([{ code: 'INVALID_INPUT' }]);
  expect(warnings![0]!.message).toMatch(/The id "u1" is in use/);
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});

/** Returns what `interrupt()` throws if a tool injects a message, and the texts of the history. */
async function injecting(message: Msg) {
  let error: unknown;
  const look = tool({
    name: 'look',
    description: '',
    input: {},
    execute() {
      try {
        agent.interrupt({ mode: 'inject', messages: message });
      } catch (thrown) {
        error = thrown;
      }
      return 'seen';
    },
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'look' }] }, 'done'], { tools: [look] });
  await agent.call(userMessage('go', { id: 'u1' }));
  return { error, history: texts(await agent.messages()) };
}

test('a message with a used id that is injected later is refused at once, and the run continues', async () => {
  const { error, history } = await injecting(userMessage('again', { id: 'u1' }));
  expect(error).toMatchObject({ message: expect.stringContaining('"u1" is in use') });
  expect(history).toEqual(['go', '', '', 'done']);
});

test('a guard that gives an injected message a used id does not break the log', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const look = tool({
    name: 'look',
    description: '',
    input: {},
    execute: () => void agent.interrupt({ mode: 'inject', messages: 'more' }),
  });
  const guard: Middleware = {
    wrapInput: (input, next) =>
      next({ ...input, messages: input.messages.map((one) => ({ ...one, id: 'same' })) }),
  };
  const replies = [{ toolCalls: [{ name: 'look' }] }, 'done'];
  const { agent } = scriptedAgent(replies, { tools: [look], use: [guard] });
  expect((await agent.call('go')).text).toBe('done');
  const ids = (await agent.messages()).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  vi.restoreAllMocks();
});
