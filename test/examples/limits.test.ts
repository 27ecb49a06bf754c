import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region limits
import { AgentError, ReActAgent, textOf, tool } from '@isoloop/core';
import { summarize } from '@isoloop/core/answer';
// #endregion
// #region busy
// #endregion
// #region agentscope
import { agentscope, arcReactor } from '@isoloop/presets';
// #endregion
// #region arc-reactor
// #endregion

const look = tool({ name: 'look', description: 'Looks', input: {}, execute: () => 'nothing' });
const tools = [look];

test('summarize() answers at the limit of iterations', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'look' }] },
    { toolCalls: [{ name: 'look' }] },
    'I found nothing.',
  ]);

  // #region limits
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    limits: { iterations: 2 }, // requests to the model; default 10
    onLimit: summarize({ prompt: 'Say what you have found.' }), // one more request, without tools
  });
  const { reason, text } = await agent.call('Look for it.'); // 'max-iterations'
  // #endregion

  expect([reason, text]).toEqual(['max-iterations', 'I found nothing.']);
  expect(model.requests.map((request) => request.tools.length)).toEqual([1, 1, 0]);
  expect(textOf(model.requests[2]!.messages.at(-1)!)).toBe('Say what you have found.');
  expect((await agent.messages()).map(textOf)).not.toContain('Say what you have found.');
});

test('an agent call has limits for tool calls, tokens and time', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'look' }, { name: 'look' }, { name: 'look' }] },
    'I looked twice.',
  ]);

  // #region call-limits
  const bounded = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    limits: {
      toolCalls: 2, // counts calls of unknown tools, too; further calls get an error result, then the model answers without tools
      tokens: 50_000, // input and output; checked before each request, then `onLimit` answers
      timeoutMs: 60_000, // for the whole call, which fails with CALL_TIMEOUT
    },
  });
  const looked = await bounded.call('Look three times.'); // 'limit'
  // #endregion

  expect(looked).toMatchObject({ reason: 'limit', text: 'I looked twice.' });
});

test('a busy agent rejects a new agent call, queues it, or adds its messages to the current one', async () => {
  const model = new ScriptedModel(['One.', 'Two.', 'Three.', 'Both.']);

  // #region busy
  const strict = new ReActAgent({ name: 'strict', model }); // default whenBusy: 'reject'
  const running = strict.call('First');
  const refused: unknown = await strict.call('Second').catch((error: unknown) => error);
  console.assert(AgentError.is(refused) && refused.code === 'AGENT_BUSY'); // nothing has changed

  const patient = new ReActAgent({ name: 'patient', model, whenBusy: 'queue' }); // runs one call after the other
  const answers = await Promise.all([patient.call('First'), patient.call('Second')]);

  const open = new ReActAgent({ name: 'open', model, whenBusy: 'inject' }); // adds messages to the running call
  const [first, second] = await Promise.all([open.call('First'), open.call('Second')]); // both get the same result
  // #endregion

  expect(refused).toMatchObject({ code: 'AGENT_BUSY' });
  expect((await running).text).toBe('One.');
  expect((await strict.messages()).map(textOf)).toEqual(['First', 'One.']);
  expect(answers.map(({ text }) => text)).toEqual(['Two.', 'Three.']);
  expect(second).toBe(first);
});

test("agentscope() sets AgentScope's defaults", async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Stopped.']);

  // #region agentscope
  const like = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    use: [agentscope()],
    limits: { iterations: 1 },
  });
  // #endregion

  await like.call('Look.');
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toMatch(/^Your steps are used up\./);
  expect(agentscope()[0]!.defaults).toMatchObject({
    limits: { iterations: 10 },
    presetPriority: 'model',
  });
});

test('arcReactor() sets Arc Reactor’s defaults', async () => {
  const model = new ScriptedModel(['Found.']);

  // #region arc-reactor
  const preset = arcReactor();
  const agentFor = (userId: string) =>
    new ReActAgent({ name: 'assistant', model, tools, userId, use: [preset] });
  const answer = await agentFor('ann').call('Look for it.', { throwOnError: false }); // returns failures as results, like Arc Reactor
  // #endregion

  expect(answer).toMatchObject({ reason: 'stop', text: 'Found.' });
  expect(model.requests[0]).toMatchObject({ temperature: 0.3 });
});
