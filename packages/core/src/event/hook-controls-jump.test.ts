import { expect, test } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { HookControls, HookEvent } from './hook.ts';
import { textOf, toolResultsOf, userMessage, type Msg } from '../message/msg.ts';
import { positionHooks } from '@isoloop/presets';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { look as plainLook } from '@test/support/plain-tools.ts';
import { calls as callsOf, scriptedAgent } from '@test/support/scripted-agent.ts';
import type { AgentHook, Hooks } from '../agent/middleware.ts';

test.for(['stop', "jumpTo('end')"] as const)(
  'a reply that %s makes the answer is stored as the `post-call` hooks leave it',
  async (how) => {
    const { agent } = setUpMasked(
      how === 'stop' ? ({ stop }) => stop() : ({ jumpTo }) => jumpTo('end'),
    );
    const { text } = await agent.call('Go');
    const last = (await agent.messages()).at(-1)!;
    expect([text, textOf(last)]).toEqual(['Masked.', 'Masked.']);
  },
);

test('the answer of `jumpTo` may not have the id of the reply that it replaces', async () => {
  const { agent } = setUpMasked(({ jumpTo }, message) => jumpTo('end', [message]));
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

function setUpMasked(act: (event: HookEvent<'post-reasoning'>, message: Msg) => void): {
  readonly agent: ReActAgent;
} {
  const masking: Hooks = {
    'post-reasoning': (event) => act(event, event.message),
    'post-call': (event) => ({
      ...event,
      message: { ...event.message, content: [{ type: 'text', text: 'Masked.' }] },
    }),
  };
  const model = new ScriptedModel(['A secret.']);
  return { agent: new ReActAgent({ name: 'a', model, use: [{ on: masking }] }) };
}

test('a tool result that ends a jump is the result of its call, and the reply is the answer', async () => {
  const model = new ScriptedModel([{ text: 'I look.', toolCalls: [{ name: 'look', id: 'one' }] }]);
  const giving: Hooks = {
    'post-reasoning': ({ jumpTo }) =>
      jumpTo('end', [
        {
          id: 'mine',
          createdAt: '2026-01-01T00:00:00.000Z',
          role: 'tool',
          content: [
            {
              type: 'tool_result',
              toolUseId: 'one',
              name: 'look',
              output: 'Mine.',
              state: 'success',
            },
          ],
        },
      ]),
  };
  const agent = new ReActAgent({ name: 'a', model, use: [{ on: giving }] });
  expect((await agent.call('Go')).text).toBe('I look.');
  const messages = await agent.messages();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ output: 'Mine.' }]);
});

test.for([
  ['gotoReasoning', ['A.', 'B.', 'C.'], 'post-reasoning'],
  ['jumpTo', ['A.', 'B.', 'C.'], 'post-reasoning'],
  ['gotoReasoning', [callsOf('look'), callsOf('look'), 'C.'], 'post-acting'],
] as const)(
  '%s with one message in two rounds fails with the name of the hook, the event and the advice',
  async ([name, replies, at]) => {
    const hint = userMessage('Try again.', { id: 'hint' });
    const ask = (event: HookControls): void => {
      if (name === 'gotoReasoning') event.gotoReasoning([hint]);
      else event.jumpTo('model', [hint]);
    };
    const redirect: AgentHook = {
      name: 'redirect',
      on: { [at]: ask },
    };
    const position = { name: 'afterModel', afterModel: ask };
    const hooks =
      at === 'post-acting' ? [redirect] : [redirect, positionHooks([position as never])];
    for (const part of hooks) {
      const { agent } = scriptedAgent(replies, { use: [part], tools: [plainLook] });
      const who = part === redirect ? 'redirect' : 'afterModel';
      await expect(agent.call('go')).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: `Hook "${who}" at ${at}: The id "hint" is in use. Create a new message each time.`,
        details: { id: 'hint', hook: who, event: at },
      });
    }
  },
);

test.each(['gotoReasoning', 'pre-call'])(
  'one message twice in one list of %s fails with the name of the hook and the advice',
  async (name) => {
    const hint = userMessage('Try again.', { id: 'hint' });
    const twice: AgentHook = {
      name: 'twice',
      on:
        name === 'pre-call'
          ? { 'pre-call': (event) => ({ ...event, input: [hint, hint] }) }
          : { 'post-reasoning': ({ gotoReasoning }) => gotoReasoning([hint, hint]) },
    };
    const { agent } = scriptedAgent(['A.', 'B.'], { use: [twice] });
    await expect(agent.call('go')).rejects.toMatchObject({
      message: expect.stringMatching(
        /^Hook "twice" .*The id "hint" is in use\. Create a new message each time\.$/,
      ),
      details: { hook: 'twice' },
    });
  },
);

test('a message that a pre-call hook adds to each call fails at the second one, with the advice', async () => {
  const hint = userMessage('Be brief.', { id: 'hint' });
  const adds: AgentHook = {
    name: 'adds',
    on: { 'pre-call': (event) => ({ ...event, input: [...event.input, hint] }) },
  };
  const { agent } = scriptedAgent(['A.', 'B.'], { use: [adds] });
  await agent.call('go');
  await expect(agent.call('on')).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: 'The id "hint" is in use. A pre-call hook must create a new message each time.',
  });
});
