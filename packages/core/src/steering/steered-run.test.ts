import { expect, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { Middleware } from '../agent/middleware.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { textOf, userMessage } from '../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool, type Tool } from '../tool/tool.ts';

/** An agent whose second call joins the first one when `askAgain` is called. */
function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  let open!: () => void;
  const joined = new Promise<void>((resolve) => (open = resolve));
  const noticed: Middleware = {
    wrapInput: (input, next) => {
      if (input.messages.some((message) => textOf(message) === 'And tomorrow?')) open();
      return next(input);
    },
  };
  const agent: ReActAgent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel(replies),
    whenBusy: 'inject',
    ...options,
    use: [noticed, ...(options.use ?? [])],
  });
  let second!: Promise<AgentResult>;
  const askAgain = (): Promise<void> => {
    second = agent.call('And tomorrow?');
    second.catch(() => {});
    return joined;
  };
  const texts = async (): Promise<readonly string[]> =>
    (await agent.messages()).map(textOf).filter(Boolean);
  return { agent, askAgain, texts, second: () => second };
}

const named = (name: string, more: Partial<Tool> = {}): Tool => ({
  ...tool({ name, description: '', input: {}, execute: () => `${name} done` }),
  ...more,
});
const calls = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ name })),
});

test('a call that comes during the last answer at a limit gets an answer of its own', async () => {
  let askAgain = async (): Promise<void> => {};
  const replies: ScriptedReply[] = [
    calls('look'),
    { text: 'Summary.', wait: () => askAgain() },
    'Rain.',
  ];
  const made = setUp(replies, { tools: [named('look')], limits: { iterations: 1 } });
  ({ askAgain } = made);
  expect((await made.agent.call('Today?')).text).toBe('Summary.');
  expect((await made.second()).text).toBe('Rain.');
  expect(await made.texts()).toEqual(['Today?', 'Summary.', 'And tomorrow?', 'Rain.']);
});

test('a call that comes while a direct answer passes other middleware gets an answer of its own', async () => {
  let askAgain = async (): Promise<void> => {};
  const slow: Middleware = {
    wrapReply: async (reply, next) => {
      if (!reply.request) await askAgain();
      return next(reply);
    },
  };
  const direct = named('direct', { returnDirect: true });
  const made = setUp([calls('direct'), 'Rain.'], { tools: [direct], use: [slow] });
  ({ askAgain } = made);
  expect(await made.agent.call('Today?')).toMatchObject({ reason: 'return-direct' });
  expect((await made.second()).text).toBe('Rain.');
  expect(await made.texts()).toEqual(['Today?', 'direct done', 'And tomorrow?', 'Rain.']);
});

test('a call that comes while a run suspends is refused, and leaves nothing beside the pending tool call', async () => {
  let askAgain = async (): Promise<void> => {};
  const pay = named('pay', { needsApproval: true });
  const look = named('look', { execute: () => askAgain() });
  const made = setUp([calls('pay', 'look')], { tools: [pay, look] });
  ({ askAgain } = made);
  expect(await made.agent.call('Today?')).toMatchObject({ reason: 'suspended' });
  await expect(made.second()).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' });
  expect(await made.texts()).toEqual(['Today?']);
});

test('a message of interrupt() that comes too late for the model still enters the log', async () => {
  const request = { mode: 'inject', messages: userMessage('And tomorrow?') } as const;
  const replies: ScriptedReply[] = [
    calls('look'),
    { text: 'Summary.', wait: async () => void made.agent.interrupt(request) },
  ];
  const made = setUp(replies, { tools: [named('look')], limits: { iterations: 1 } });
  await made.agent.call('Today?');
  expect(await made.texts()).toEqual(['Today?', 'Summary.', 'And tomorrow?']);
});
