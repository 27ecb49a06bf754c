import { closeOpenCalls } from '@isoloop/core/approval';
import type { EventControls, Hook } from '@isoloop/core/event';
import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
import { readPage } from '../../scripts/readme-examples.ts';
// #region hooks
import {
  AgentError,
  ReActAgent,
  textOf,
  tool,
  userMessage,
  type AgentEvent,
  type ChatModel,
  type Tool,
} from '@isoloop/core';
// #endregion

const deleteFile = tool({
  name: 'delete_file',
  description: 'Deletes a file',
  input: {},
  execute: () => 'deleted',
});

test('hooks change events in the order of their priority, and can be added and removed', async () => {
  const model = new ScriptedModel(['call me 555-0100', 'Bye.', 'Bye.']);

  // #region hooks
  const today: Hook = {
    name: 'today',
    on: {
      'pre-reasoning': {
        priority: 10,
        handle: (event) => ({
          ...event,
          messages: [...event.messages, userMessage('(Today is Friday.)')],
        }),
      },
      'post-reasoning': {
        priority: 10,
        handle: (event) => ({
          ...event,
          message: {
            ...event.message,
            content: [{ type: 'text', text: textOf(event.message).replace(/\d{3}-\d{4}/, '…') }],
          },
        }),
      },
    },
  };
  const counts = new Map<string, number>();
  const counter: Hook = {
    name: 'counter',
    onError: 'ignore', // an exception does not fail the call
    // `*` gets every event, after the hook's handler of its type.
    on: { '*': ({ type }) => void counts.set(type, (counts.get(type) ?? 0) + 1) },
  };

  const agent = new ReActAgent({ name: 'assistant', model, use: [counter, today] });
  const { text } = await agent.call('What is your number?');

  const remove = agent.addHook({
    on: { 'run-end': ({ result }) => console.assert(result.reason === 'stop') },
  });
  await agent.call('Bye');
  remove();
  // #endregion

  expect(text).toBe('call me …');
  expect(counts.get('run-start')).toBe(2);
  expect(model.requests[0]?.messages.map(textOf)).toEqual([
    'What is your number?',
    '(Today is Friday.)',
  ]);
  expect((await agent.messages()).map(textOf)).toEqual([
    'What is your number?',
    'call me …',
    'Bye',
    'Bye.',
  ]);
});

test('hooks control the loop', async () => {
  const model: ScriptedModel = new ScriptedModel([
    { toolCalls: [{ name: 'delete_file' }] },
    'Maybe.',
    'It is kept.',
    { toolCalls: [{ name: 'delete_file' }] },
    'Done.',
  ]);
  const agentOf = (hook: Hook): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model: model as ChatModel,
      tools: [deleteFile as Tool],
      use: [hook],
    });

  // #region hook-control
  const careful: Hook = {
    on: {
      // Refuses this tool call. The model reads the reason.
      'pre-acting': (event) => {
        if (event.toolUse.name === 'delete_file') event.reject('Files stay.');
      },
      // Asks the model again instead of answering or calling tools.
      'post-reasoning': (event) => {
        if (textOf(event.message) === 'Maybe.')
          event.gotoReasoning([userMessage('Say yes or no.')]);
      },
    },
  };
  const human: Hook = {
    // Ends the call with reason `stopped-by-hook`. Tool calls stay open; `agent.call()` continues
    // them.
    on: {
      'post-reasoning': (event) => {
        if (event.message.content.some(({ type }) => type === 'tool_use')) event.stop();
      },
    },
  };
  // #endregion

  const first = agentOf(careful);
  expect((await first.call('Delete it.')).text).toBe('It is kept.');
  const texts = JSON.stringify(await first.messages());
  expect(texts).toContain('Tool call rejected: Files stay.');
  expect(texts).toContain('Say yes or no.');

  const second = agentOf(human);
  expect((await second.call('Delete it.')).reason).toBe('stopped-by-hook');
  expect((await second.call()).text).toBe('Done.');
  model.assertDone();
});

test('an agent call fails if a hook changes an event that hooks cannot change', async () => {
  const hooks: readonly Hook[] = [
    {
      name: 'writer',
      on: { 'reasoning-chunk': (event) => void ((event as { delta: string }).delta = 'x') },
    },
  ];
  const agent = new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel(['one']),
    use: hooks,
  });
  await expect(agent.call('Hi')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'writer', event: 'reasoning-chunk' },
  });
});

/** All event types. This file does not compile if one is missing. */
const eventTypes: Readonly<Record<AgentEvent['type'], true>> = {
  'run-start': true,
  'pre-call': true,
  'pre-reasoning': true,
  'reasoning-chunk': true,
  'tool-input-chunk': true,
  'hosted-tool-chunk': true,
  'post-reasoning': true,
  'pre-acting': true,
  'acting-chunk': true,
  'post-acting': true,
  'pre-summary': true,
  'summary-chunk': true,
  'post-summary': true,
  'post-call': true,
  'step-reset': true,
  'context-fitted': true,
  suspended: true,
  error: true,
  'run-end': true,
};

/** The controls of each event. This file does not compile if one is missing. */
const controlsOf = {
  'run-start': ['reject'],
  'pre-call': ['jumpTo', 'reject', 'stop'],
  'pre-reasoning': ['gotoReasoning', 'jumpTo', 'stop'],
  'post-reasoning': ['gotoReasoning', 'jumpTo', 'stop'],
  'pre-acting': ['reject', 'stop'],
  'post-acting': ['gotoReasoning', 'jumpTo', 'stop'],
  'pre-summary': ['stop'],
} satisfies { readonly [K in keyof EventControls]: readonly EventControls[K][] };

test('the table of the page about hooks has each event that hooks can change, and its controls', async () => {
  const section = readPage('docs/guides/hooks.md').split('\n## Events\n')[1]!.split('\n## ')[0]!;
  const rows = [...section.matchAll(/^\| `([\w-]+)` +\|([^|]*)\|([^|]*)\|$/gm)];
  const isListed = new Set(rows.flatMap(([, type, change]) => (change?.trim() ? [type] : [])));
  const table = Object.fromEntries(
    Object.keys(eventTypes).map((type) => [type, isListed.has(type)]),
  );
  const eventsWithControls = rows.flatMap(([, type = '', , controls]) => {
    const names = [...(controls ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
    return names.length ? [[type, names.toSorted()]] : [];
  });
  expect(Object.fromEntries(eventsWithControls)).toEqual(controlsOf);

  const changed: Record<string, boolean> = {};
  const hooks: readonly Hook[] = [
    {
      on: {
        '*': (event) =>
          event.type in eventTypes ? { ...event, agentPath: ['changed'] } : undefined,
      },
    },
    { on: { '*': ({ type, agentPath }) => void (changed[type] = agentPath[0] === 'changed') } },
    {
      on: {
        'post-summary': (event) => ({
          ...event,
          message: { ...event.message, content: [{ type: 'text', text: 'short' }] },
        }),
      },
    },
  ];
  const echo = tool({
    name: 'echo',
    description: 'Gives back',
    input: {},
    execute: (_, { emit }) => (emit('echoing'), 'echo'),
  });
  const external = tool({ name: 'external', description: 'Runs elsewhere', input: {} });
  const hostedTool = { id: 's1', name: 'web_search', input: {} };
  const search = {
    type: 'thinking',
    id: 's',
    delta: '',
    providerMetadata: { hostedTool },
  } as const;
  const model = new ScriptedModel([
    [{ deltas: [[search]] }, { text: 'I look.', toolCalls: [{ name: 'echo' }] }],
    'A summary.',
    { toolCalls: [{ name: 'external' }] },
    { error: new AgentError('MODEL_SERVER', 'down') },
  ]);
  const agent = new ReActAgent({
    name: 'a',
    model,
    use: [
      {
        wrapRequest: async (draft, next, run) => {
          await run.events.emit('context-fitted', { removed: 1, before: 2, after: 1 });
          return next(draft);
        },
      },
      ...hooks,
      closeOpenCalls(),
    ],
    tools: [echo, external],
    limits: { iterations: 1 },
  });
  await agent.call('go');
  await agent.call('go');
  await agent.call('go', { throwOnError: false });
  expect(changed).toEqual(table);
});
