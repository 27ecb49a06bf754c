import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region weighted-history
import {
  friendlyErrors,
  oxygent,
  parallelIds,
  reactMemory,
  weightedHistory,
} from '@isoloop/presets';
// #endregion
// #region react-memory
// #endregion
// #region friendly-errors
// #endregion
// #region oxygent
// #endregion
import { AgentError, ReActAgent, textOf, tool } from '@isoloop/core';
import { fitContext, lastTurns, successfulTurns } from '@isoloop/core/context';
import { userErrorText } from '@isoloop/core/error';

const look = tool({ name: 'look', description: 'Looks', input: {}, execute: () => 'nothing' });
const tools = [look];
const call = { toolCalls: [{ name: 'look' }, { name: 'look' }] };

test('weightedHistory() fills the window by the weights of turns and steps', async () => {
  const model = new ScriptedModel([call, 'One.', call, 'Two.', 'Three.']);

  // #region weighted-history
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    use: [
      successfulTurns(),
      lastTurns(10),
      weightedHistory({
        shortWeight: 5, // weight of a question with its answer
        reactWeight: 1, // weight of a step in between: calls with their results
        order: (position) => position, // factor by position; 1 is the oldest
        max: 6_000,
        unit: 'tokens', // or 'characters'
      }),
      fitContext({ window: 32_000 }),
    ],
  });
  // #endregion

  for (const question of ['First?', 'Second?', 'Third?']) await agent.call(question);
  expect(model.requests.at(-1)!.messages).toHaveLength(11);
});

test('oxygent() answers from all tool results at the limit', async () => {
  const model = new ScriptedModel([call, 'There is nothing.']);

  // #region observations
  const seeker = new ReActAgent({
    name: 'seeker',
    model,
    tools,
    use: [oxygent({ maxRounds: 1, protocol: false })],
  });
  const found = await seeker.call('What is there?'); // 'max-iterations'
  // #endregion

  expect(found).toMatchObject({ reason: 'max-iterations', text: 'There is nothing.' });
  expect(model.requests[1]!.messages.map(textOf)[1]).toBe(
    'Question:\nWhat is there?\n\nObservations:\n1. look: nothing\n2. look: nothing',
  );
});

test('reactMemory() returns the steps of a call', async () => {
  const model = new ScriptedModel([call, 'Nothing.']);
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region react-memory
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    use: [reactMemory(), parallelIds()],
  });
  const stream = agent.stream('Look twice.');
  for await (const event of stream) {
    if (event.type === 'pre-acting') console.log(event.parallelId, event.toolUse.name); // the same id for all calls of one reply
  }
  const { reactMemory: steps } = await stream.result; // messages with the calls and their results
  // #endregion

  const ids = log.mock.calls.map(([id]) => id);
  expect(ids).toEqual([expect.any(String), ids[0]]);
  expect(steps?.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool']);
});

test('friendlyErrors() sets the text of a failed call', async () => {
  const model = new ScriptedModel([{ error: new AgentError('MODEL_SERVER', 'down') }]);

  // #region friendly-errors
  const kind = new ReActAgent({
    name: 'kind',
    model,
    use: [friendlyErrors('Please try again.')],
  }); // or userErrorText
  const failed = await kind.call('Hello', { throwOnError: false });
  console.assert(failed.text === 'Please try again.' && failed.error?.code === 'MODEL_SERVER');
  // #endregion

  expect(failed).toMatchObject({ reason: 'error', text: 'Please try again.' });
  expect(friendlyErrors(userErrorText)).toBeTypeOf('object');
});

test('oxygent() sets OxyGent’s protocol, memory and trust mode', async () => {
  const model = new ScriptedModel(
    ['```json\n{"tool_name": "look", "arguments": {}}\n```', 'Nothing.'],
    { features: { tools: false } },
  );
  vi.spyOn(console, 'log').mockReturnValue();

  // #region oxygent
  const oxy = oxygent({ discardReactMemory: false }); // the model also sees the steps of earlier calls
  const oxyAgent = new ReActAgent({ name: 'assistant', model, tools, use: [oxy] });
  const said = await oxyAgent.call('Look for it.', { throwOnError: false });
  console.log(said.text, said.reactMemory);
  // #endregion

  expect(said).toMatchObject({ reason: 'stop', text: 'Nothing.' });
  expect(said.reactMemory).toHaveLength(2);

  const looking = new ScriptedModel(['{"tool_name": "look", "arguments": {}}']);
  // #region oxygent-trust
  const trusting = new ReActAgent({
    use: [oxygent({ trustMode: true, promptVariables: { variables: { company: 'Rail' } } })],
    name: 'assistant',
    model: looking,
    tools,
    systemPrompt: 'You work for ${company}.',
  });
  const direct = await trusting.call('Look for it.'); // text 'nothing' from the tool; reason 'return-direct'
  // #endregion
  expect(direct).toMatchObject({ reason: 'return-direct', text: 'nothing' });
  expect(textOf(looking.requests[0]!.messages[0]!)).toMatch(/^You work for Rail\./);
});
