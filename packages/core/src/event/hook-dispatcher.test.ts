import { expect, test } from 'vitest';
import { textOf, tool, toolResultsOf, userMessage, type AgentEvent } from '@isoloop/core';
import type { Hook } from '@isoloop/core/event';
import type { ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '@test/support/scripted-agent.ts';

const echo = tool({
  name: 'echo',
  description: 'Gives back',
  input: { type: 'object' },
  execute: (input) => input as object,
});

function setUp(replies: readonly ScriptedReply[], hooks: readonly Hook[]) {
  return scriptedAgent(replies, { use: [...hooks], tools: [echo] });
}

const mark = (name: string, priority?: number): Hook['on'] => ({
  'pre-call': {
    handle: (event) => ({ ...event, input: [...event.input, userMessage(name)] }),
    ...(priority !== undefined && { priority }),
  },
});

test('hooks run by priority, then in the given order, and each hook gets the result of the previous hook', async () => {
  const { agent, model } = setUp(
    ['ok'],
    [
      { on: mark('third')! },
      { on: mark('fourth')! },
      { on: mark('first', 1)! },
      { on: mark('second', 99)! },
    ],
  );
  await agent.call('go');
  expect(model.requests[0]!.messages.map(textOf)).toEqual([
    'go',
    'first',
    'second',
    'third',
    'fourth',
  ]);
});

test('a pre-reasoning hook changes the request and not the log', async () => {
  const hook: Hook = {
    on: {
      'pre-reasoning': (event) => ({
        ...event,
        messages: [...event.messages, userMessage('hint')],
        options: { temperature: 0 },
      }),
    },
  };
  const { agent, model } = setUp(['ok'], [hook]);
  await agent.call('go');
  expect(model.requests[0]).toMatchObject({ temperature: 0 });
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['go', 'hint']);
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'ok']);
});

test('a pre-acting hook changes the arguments, and a post-acting hook changes the result', async () => {
  const hook: Hook = {
    on: {
      'pre-acting': (event) => ({
        ...event,
        toolUse: { ...event.toolUse, input: { changed: true } },
      }),
      'post-acting': (event) => ({
        ...event,
        result: { ...event.result, output: `seen ${String(event.result.output)}` },
      }),
    },
  };
  const { agent, model } = setUp(
    [{ toolCalls: [{ name: 'echo', input: { changed: false } }] }, 'ok'],
    [hook],
  );
  await agent.call('go');
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)[0]!.output).toBe(
    'seen {"changed":true}',
  );
});

test('a pre-acting hook rejects only its own tool call', async () => {
  const hook: Hook = {
    on: {
      'pre-acting': (event) => void (event.toolUse.id === 'call_1' && event.reject('not today')),
    },
  };
  const { agent, model } = setUp(
    [{ toolCalls: [{ name: 'echo' }, { name: 'echo' }] }, 'ok'],
    [hook],
  );
  await agent.call('go');
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)).toMatchObject([
    { state: 'denied', output: 'Tool call rejected: not today' },
    { state: 'success' },
  ]);
});

test('if a hook rewrites streamed text, a step-reset event contains the new text', async () => {
  const hook: Hook = {
    on: {
      'post-reasoning': (event) => ({
        ...event,
        message: { ...event.message, content: [{ type: 'text', text: 'polished' }] },
      }),
    },
  };
  const { agent } = setUp(['rough'], [hook]);
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('go')) events.push(event);
  expect(events.find((event) => event.type === 'step-reset')).toMatchObject({
    replacement: { content: [{ text: 'polished' }] },
  });
  expect(events.at(-1)).toMatchObject({ result: { text: 'polished' } });
  expect(events.map(({ seq }) => seq)).toEqual(
    events.map(({ seq }) => seq).toSorted((a, b) => a - b),
  );
});

test('stop() in a post-reasoning hook ends the call with open tool calls, and a call without input runs them', async () => {
  const { agent, model } = setUp(
    [{ toolCalls: [{ name: 'echo' }] }, 'later'],
    [
      {
        on: {
          'post-reasoning': (event) =>
            void (event.iteration === 1 && model.requests.length === 1 && event.stop()),
        },
      },
    ],
  );
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect((await agent.messages()).at(-1)!.content[0]).toMatchObject({ type: 'tool_use' });
  await expect(agent.call('go on')).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' });
  expect((await agent.call()).text).toBe('later');
});

test('stop() in a post-acting hook ends the call after all tools of the reply have run', async () => {
  const { agent, model } = setUp(
    [{ toolCalls: [{ name: 'echo' }, { name: 'echo' }] }],
    [{ on: { 'post-acting': (event) => event.stop() } }],
  );
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(model.requests).toHaveLength(1);
  expect((await agent.messages()).flatMap(toolResultsOf)).toHaveLength(2);
});

test('gotoReasoning() adds its messages after the reply and asks the model again', async () => {
  const hook: Hook = {
    on: {
      'post-reasoning': (event) =>
        void (textOf(event.message) === 'no' && event.gotoReasoning([userMessage('try again')])),
    },
  };
  const { agent, model } = setUp(['no', 'yes'], [hook]);
  expect((await agent.call('go')).text).toBe('yes');
  expect(model.requests[1]!.messages.map(textOf)).toEqual(['go', 'no', 'try again']);
});

test('an event that hooks cannot change is frozen, and a hook that writes to the event fails the call', async () => {
  const hook: Hook = {
    name: 'writer',
    on: { 'reasoning-chunk': (event) => void ((event as { delta: string }).delta = 'x') },
  };
  const { agent } = setUp(['ok'], [hook]);
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'writer', event: 'reasoning-chunk' },
  });
});

test("a failure of a hook with `onError: 'ignore'` is ignored", async () => {
  const hook: Hook = {
    onError: 'ignore',
    on: {
      '*'() {
        throw new Error('hook down');
      },
    },
  };
  const { agent } = setUp(['ok'], [hook]);
  expect((await agent.call('go')).text).toBe('ok');
});

test('the `*` handler gets every event of the run in order, and a hook can be removed', async () => {
  const { agent } = setUp(['a b', 'c'], []);
  const seen: number[] = [];
  const off = agent.addHook({ on: { '*': (event) => void seen.push(event.seq) } });
  const read: number[] = [];
  for await (const event of agent.stream('go')) read.push(event.seq);
  expect(seen).toEqual(read);
  off();
  await agent.call('again');
  expect(seen).toEqual(read);
});

test('the default priority of a hook is 100', async () => {
  const { agent, model } = setUp(
    ['ok'],
    [
      { on: mark('last', 101)! },
      { on: mark('first')! },
      { on: mark('second', 100)! },
      { on: mark('third')! },
    ],
  );
  await agent.call('go');
  expect(model.requests[0]!.messages.map(textOf)).toEqual([
    'go',
    'first',
    'second',
    'third',
    'last',
  ]);
});

test('if two hooks fail at a notification, the first failure is reported; a hook without a name is called "unnamed"', async () => {
  const fails = (why: string): Hook => ({
    on: { 'reasoning-chunk': () => Promise.reject(new Error(why)) },
  });
  const { agent } = setUp(['ok'], [fails('one'), fails('two')]);
  await expect(agent.call('go')).rejects.toMatchObject({
    message: expect.stringMatching(/"unnamed".*one/),
    details: { hook: 'unnamed' },
  });
});
