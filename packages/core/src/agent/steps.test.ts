import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { textOf } from '../message/msg.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import type { Middleware } from './middleware.ts';

function setUp(part: Middleware) {
  const model = new ScriptedModel(['One.', 'Two.']);
  return { agent: new Agent({ name: 'a', model, use: [part] }), model };
}

test('steps.edit() replaces, removes and appends messages in the log and in later requests', async () => {
  const { agent, model } = setUp({
    wrapReply: (next) => async (reply, context, steps) => {
      const made = await next(reply);
      const [question, answer] = context.messages;
      if (context.iteration > 1 || !question) return made;
      expect(answer).toBeUndefined();
      const content = [{ type: 'text', text: 'Changed' }] as const;
      await steps.edit({ replace: [{ ...question, content }], append: [reply.message] });
      await steps.edit({
        remove: [reply.message.id],
        append: [steps.message('assistant', 'Instead'), steps.message('user', 'Again')],
      });
      return { to: 'model' };
    },
  });
  await agent.call('Hi');
  const conversation = ['Changed', 'Instead', 'Again'];
  expect(model.requests[1]!.messages.map(textOf)).toEqual(conversation);
  expect((await agent.messages()).map(textOf)).toEqual([...conversation, 'Two.']);
});

test('steps.include() adds messages to requests, before or after the conversation, and not to the log', async () => {
  const { agent, model } = setUp({
    wrapSettle: (next) => async (input, _context, steps) => {
      const first = await next(input);
      steps.include([steps.message('user', 'First')]);
      steps.include([steps.message('user', 'Before')], 'first');
      steps.include([steps.message('user', 'Last')], 'last');
      return first;
    },
  });
  await agent.call('Hi');
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['Before', 'First', 'Hi', 'Last']);
  expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'One.']);
});

test('steps.pause() suspends the run, and steps.addToResult() adds to its result', async () => {
  const warning = new AgentError('INTERNAL', 'Odd.').toJSON();
  const { agent, model } = setUp({
    wrapSettle: (next) => async (input, _context, steps) => {
      const first = await next(input);
      steps.addToResult({ warning });
      steps.pause();
      return first;
    },
  });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'suspended', warnings: [warning] });
  expect(model.requests).toHaveLength(0);
});

test('a failed agent call has the message of steps.addToResult()', async () => {
  const { agent } = setUp({
    wrapReply: () => async (reply, _context, steps) => {
      steps.addToResult({ failureMessage: reply.message });
      throw new Error('down');
    },
  });
  const result = await agent.call('Hi', { throwOnError: false });
  expect(result).toMatchObject({ reason: 'error', text: 'One.' });
});
