import { expect, test } from 'vitest';
import './strict-assert.ts';
import { readPage } from '../../scripts/readme-examples.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
// #region return-direct
import { ReActAgent, textOf, tool, toolMessage, toolUsesOf, userMessage } from '@isoloop/core';
// #endregion
// #region jumps
// #endregion
// #region positions
import { positionHooks, springAiAlibaba } from '@isoloop/presets';
// #endregion
// #region counted-limits
import { modelRequestLimit, toolCallLimit } from '@isoloop/core/limits';
// #endregion
// #region state-keys
import type { Hook } from '@isoloop/core/event';
import {
  appendKey,
  loadState,
  mergeKey,
  replaceKey,
  saveState,
  stateKeys,
} from '@isoloop/core/state';
import * as z from 'zod';
// #endregion
// #region spring-ai-alibaba
// #endregion
import { fakeClock } from '../clock/fake-clock.ts';

const look = tool({ name: 'look', description: 'Looks', input: {}, execute: () => 'nothing' });
const tools = [look];
const looks: ScriptedReply = { toolCalls: [{ name: 'look' }] };

test('returnDirect makes a tool’s result the answer', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'report', input: { month: 'May' } }] },
    { toolCalls: [{ name: 'look' }] },
    'Nothing.',
  ]);

  // #region return-direct
  const report = tool({
    name: 'report',
    description: 'Writes the report of a month',
    input: z.object({ month: z.string() }),
    returnDirect: true,
    execute: ({ month }) => `# ${month}\n…`,
  });
  const agent = new ReActAgent({ name: 'assistant', model, tools: [report, look] });
  const { text, reason } = await agent.call('The report of May, please.'); // '# May\n…', 'return-direct'
  await agent.call('Look.', { returnDirect: ({ output }) => output !== 'nothing' }); // overrides the tools' own setting
  // #endregion

  expect([text, reason]).toEqual(['# May\n…', 'return-direct']);
  expect((await agent.messages()).map(({ role }) => role).slice(0, 4)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ]);
  model.assertDone();
});

test('hooks can jump to the end of the agent call or to the tools', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }, { name: 'look' }] }, 'Seen.']);
  const closed = { now: true };

  // #region jumps
  const clerk: Hook = {
    on: {
      'pre-reasoning'(event) {
        if (closed.now) event.jumpTo('end', 'We are closed.'); // skips the model; reason `stopped-by-hook`
      },
      'post-reasoning'(event) {
        const [first] = toolUsesOf(event.message);
        // Sets the result of the first tool call. The other tool calls run.
        if (first)
          event.jumpTo(
            'tools',
            toolMessage({
              type: 'tool_result',
              toolUseId: first.id,
              name: first.name,
              output: 'cached',
              state: 'success',
            }),
          );
      },
    },
  };
  // #endregion

  const agent = new ReActAgent({ name: 'assistant', model, tools, use: [clerk] });
  expect(await agent.call('Look twice.')).toMatchObject({
    text: 'We are closed.',
    reason: 'stopped-by-hook',
  });
  closed.now = false;
  expect((await agent.call('Look twice.')).text).toBe('Seen.');
  const results = model.requests[1]!.messages.filter(({ role }) => role === 'tool').map(
    ({ content }) => JSON.stringify(content),
  );
  expect(results.map((result) => /cached|nothing/.exec(result)?.[0])).toEqual([
    'cached',
    'nothing',
  ]);
});

test('positionHooks() run before and after the agent and the model', async () => {
  const model = new ScriptedModel([looks, 'Done.']);
  const log: string[] = [];

  // #region positions
  const around = positionHooks([
    {
      name: 'timing',
      beforeModel: () => void log.push('timing starts'),
      afterModel: () => void log.push('timing ends'),
    },
    {
      name: 'audit',
      priority: 1, // default 0; lower numbers run first in `before…` and last in `after…`
      beforeAgent: ({ input }) => void log.push(`asked: ${input.length}`),
      afterModel: () => void log.push('model answered'),
      afterAgent: ({ message }) => void log.push(`answered: ${message.role}`),
    },
  ]);
  const agent = new ReActAgent({ name: 'assistant', model, tools, use: [around] });
  await agent.call('Look.');
  // asked: 1 · timing starts · model answered · timing ends · timing starts · model answered ·
  // timing ends · answered: assistant
  // #endregion

  const each = ['timing starts', 'model answered', 'timing ends'];
  expect(log).toEqual(['asked: 1', ...each, ...each, 'answered: assistant']);
});

test('modelRequestLimit() and toolCallLimit() end an agent call', async () => {
  const model = new ScriptedModel([looks, looks, 'Three.']);

  // #region counted-limits
  const counted = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    use: [
      modelRequestLimit({ run: 20, session: 200, atLimit: 'fail' }),
      toolCallLimit({ tool: 'look', run: 1, text: 'I looked already.' }),
    ],
  });
  const once = await counted.call('Look twice.');
  // #endregion

  expect(once).toMatchObject({ reason: 'limit', text: 'I looked already.' });
  expect((await counted.call('And?')).text).toBe('Three.');
});

test('stateKeys() keeps values of a session', async () => {
  const model = new ScriptedModel([
    { toolCalls: ['bread', 'milk'].map((item) => ({ name: 'note', input: { item } })) },
    'Noted.',
    'They are noted.',
  ]);

  // #region state-keys
  const state = stateKeys(
    {
      items: appendKey<string>(), // appends to a list
      shop: replaceKey<string>(), // keeps the last value
      counts: mergeKey<Record<string, number>>(), // merges fields
      answer: replaceKey<string>(),
    },
    { outputKey: 'answer' }, // stores each call's answer; `inputKey` stores its input
  );
  const note = tool({
    name: 'note',
    description: 'Puts something on the list',
    input: z.object({ item: z.string() }),
    execute({ item }, ctx) {
      state.of(ctx).write({ items: item, counts: { [item]: 1 } }); // the state keeps the values of all parallel tools
      return 'ok';
    },
  });
  const tellItems: Hook = {
    on: {
      'pre-reasoning': (event) => {
        const list = state.of(event).read('items').join(', ');
        return { ...event, messages: [...event.messages, userMessage(`(On the list: ${list})`)] };
      },
    },
  };
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools: [note],
    use: [tellItems, state],
  });
  await agent.call('Bread and milk.');

  const elsewhere = new ReActAgent({
    name: 'assistant',
    model,
    use: [tellItems, state],
  });
  await loadState(elsewhere, await saveState(agent)); // the values are part of the state
  await elsewhere.call('What is on my list?');
  // #endregion

  expect(state.of(agent).read('answer')).toBe('Noted.');
  expect(state.of(elsewhere).read('counts')).toEqual({ bread: 1, milk: 1 });
  expect(textOf(model.requests[2]!.messages.at(-1)!)).toBe('(On the list: bread, milk)');
});

/** Returns the milliseconds after which a tool that never ends gets a result. */
async function timeOfTool(): Promise<number> {
  const clock = fakeClock();
  let begun = false;
  const never = tool({
    name: 'look',
    description: '',
    input: {},
    execute: () => new Promise(() => void (begun = true)),
  });
  const model = new ScriptedModel([looks, 'Done.']);
  const call = new ReActAgent({
    name: 'assistant',
    model,
    tools: [never],
    use: [springAiAlibaba()],
  }).call('Look.');
  await clock.waitFor(() => expect(begun).toBe(true));
  await clock.advanceUntil(call, 1000);
  return Number(/timed out after (\d+) ms/.exec(JSON.stringify(model.requests[1]?.messages))?.[1]);
}

test('springAiAlibaba() has the limits that the page about presets lists', async () => {
  const model = new ScriptedModel([looks, 'Done.']);

  // #region spring-ai-alibaba
  const preset = springAiAlibaba({
    parallelToolExecution: true,
    hooks: [{ name: 'first', beforeModel: () => {} }],
    variables: { city: 'Seoul' },
  });
  const alibaba = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    systemPrompt: 'You are a guide to {city}. What is asked: {input}',
    use: [preset, modelRequestLimit({ run: 30 })], // the preset has no such limit
  });
  // #endregion

  expect((await alibaba.call('Look.')).text).toBe('Done.');
  expect(textOf(model.requests[0]!.messages[0]!)).toBe(
    'You are a guide to Seoul. What is asked: Look.',
  );
  const page = readPage('docs/guides/presets.md');
  const numbers = new Map(
    [...page.matchAll(/^\| `springAiAlibaba\(\)`: (.+?) +\| (.+?) +\|$/gm)].map(
      ([, what, value]) => [what, value],
    ),
  );
  const limitsOf = ([base]: ReturnType<typeof springAiAlibaba>) => base!.defaults!.limits!;
  const limits = limitsOf(springAiAlibaba());
  expect(Object.fromEntries(numbers)).toEqual({
    iterations: limits.iterations === Infinity ? 'no limit' : limits.iterations,
    'concurrent tool calls': String(limits.parallelTools),
    'the same, with `parallelToolExecution`': String(
      limitsOf(springAiAlibaba({ parallelToolExecution: true })).parallelTools,
    ),
    'time limit of a tool': `${(await timeOfTool()) / 60_000} min`,
    'priority of a hook': '0',
  });
});
