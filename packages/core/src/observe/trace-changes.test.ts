import { expect, test } from 'vitest';
import {
  textOf,
  tool,
  userMessage,
  type AgentEvent,
  type Middleware,
  type Msg,
} from '@isoloop/core';
import { traceChanges, type TracedAgentEvent } from '@isoloop/core/observe';
import { scriptedAgent } from '@test/support/scripted-agent.ts';

const echo = tool({ name: 'echo', description: '', input: {}, execute: () => 'heard' });

/** Runs an agent that calls `echo` twice at once, and returns the changes by event. */
async function changesOf(use: readonly Middleware[]) {
  const calls = [
    { name: 'echo', id: 'a', input: { n: 1 } },
    { name: 'echo', id: 'b', input: { n: 2 } },
  ];
  const { agent } = scriptedAgent([{ toolCalls: calls }, 'Done.'], {
    tools: [echo],
    use: traceChanges(use),
  });
  const changes: unknown[] = [];
  let text = '';
  for await (const event of agent.stream('Hello.')) {
    const { type, changes: found = [] } = event as TracedAgentEvent;
    const id = 'toolUse' in event ? ` ${event.toolUse.id}` : '';
    for (const { middleware, at, fields } of found)
      changes.push(`${type}${id}: ${middleware} at ${at} changed ${fields.join()}`);
    if (event.type === 'run-end') text = event.result.text;
  }
  return { changes, text };
}

test('traceChanges() tells which middleware changed which event', async () => {
  const { changes, text } = await changesOf([
    { name: 'watches', on: { 'pre-reasoning': () => {} }, wrapTool: (call, next) => next(call) },
    {
      name: 'adds a hint',
      wrapRequest: (draft, next) =>
        next({ ...draft, messages: [...draft.messages, userMessage('Be brief.')] }),
    },
    {
      name: 'cold',
      on: { 'pre-reasoning': (event) => ({ ...event, options: { temperature: 0 } }) },
    },
    {
      name: 'loud',
      wrapTool: async (call, next) => {
        const result = await next(call);
        return call.toolUse.id === 'b' ? { ...result, output: 'HEARD' } : result;
      },
    },
    {
      wrapModel: (inner) => ({
        ...inner,
        stream: (request, context) => inner.stream({ ...request, maxTokens: 9 }, context),
      }),
    },
  ]);
  expect(text).toBe('Done.');
  const request = [
    'pre-reasoning: adds a hint at wrapRequest changed messages',
    'pre-reasoning: cold at pre-reasoning changed options',
    'post-reasoning: middleware 5 of use at wrapModel changed maxTokens',
  ];
  expect(changes).toEqual([
    ...request,
    'post-acting b: loud at wrapTool changed output',
    ...request,
  ]);
});

test('traceChanges() keeps what middleware does, also that of a class', async () => {
  class Shouting implements Middleware {
    readonly name = 'shouting';
    readonly #mark = '!';
    get on() {
      return { '*': (event: AgentEvent) => this.#onEvent(event) };
    }
    #onEvent(event: AgentEvent): AgentEvent | undefined {
      if (event.type !== 'post-reasoning') return undefined;
      const text = textOf(event.message);
      return { ...event, message: { ...event.message, content: this.#said(text, event.message) } };
    }
    #said(text: string, { content }: Msg): Msg['content'] {
      return text ? [{ type: 'text', text: text + this.#mark }] : content;
    }
  }
  const { changes, text } = await changesOf([new Shouting()]);
  expect(text).toBe('Done.!');
  expect(changes).toContain('post-reasoning: shouting at post-reasoning changed message');
});

test('a middleware that answers itself has changed no field', async () => {
  const { changes } = await changesOf([
    {
      name: 'cache',
      wrapTool: async ({ toolUse: { id, name } }) => ({
        type: 'tool_result',
        toolUseId: id,
        name,
        output: 'cached',
        state: 'success',
      }),
    },
  ]);
  expect(changes).toEqual([
    'post-acting a: cache at wrapTool changed ',
    'post-acting b: cache at wrapTool changed ',
  ]);
});

test('a middleware that changes the input or the result of a whole run is named', async () => {
  const { changes, text } = await changesOf([
    {
      name: 'around',
      wrapRun: async (input, next) => {
        const result = await next({ ...input, messages: [...input.messages, userMessage('Go.')] });
        return { ...result, text: `${result.text} Bye.` };
      },
    },
  ]);
  expect(text).toBe('Done. Bye.');
  expect(changes).toEqual([
    'pre-reasoning: around at wrapRun changed messages',
    'run-end: around at wrapRun changed text',
  ]);
});
