/// <reference path="../../../test/provider-server/provided-context.d.ts" />
/// <reference path="../../../test/mcp-server/provided-context.d.ts" />
import { attach } from '@isoloop/core/adapter';
import { fitContext } from '@isoloop/core/context';
import { metrics } from '@isoloop/core/observe';
import { jsonMode } from '@isoloop/core/output';
import { renderTemplate } from '@isoloop/core/prompt';
import { retrieval } from '@isoloop/core/recall';
import { saveState } from '@isoloop/core/state';
import { textStream } from '@isoloop/core/stream';
import { estimateTokens } from '@isoloop/core/tokens';
import { selectTools } from '@isoloop/core/tools';
import { unstorageStore } from '@isoloop/core/unstorage';
import memoryDriver from 'unstorage/drivers/memory';
import { ReActAgent, tool, type Middleware } from '@isoloop/core';
import { createUiMessageEncoder } from '@isoloop/core/ai-sdk';
import { lengthGuard } from '@isoloop/core/guards';
import { jsonSchema } from '@isoloop/core/json-schema';
import { Agent } from '@isoloop/core/kernel';
import { mcpTools } from '@isoloop/core/mcp';
import { keywordRetriever } from '@isoloop/core/memory-search';
import { modelRequestLimit } from '@isoloop/core/middleware';
import { openTelemetry } from '@isoloop/core/open-telemetry';
import { arcReactor } from '@isoloop/core/presets';
import { ScriptedModel } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { context, trace } from '@opentelemetry/api';
import { expect, inject, test } from 'vitest';
import { httpProviders } from '../test-support/providers.ts';
import { scriptedAgent } from '../test-support/scripted-agent.ts';
import { answeringFetch } from './testing/answering-fetch.ts';

const add = tool({
  name: 'add',
  description: 'Adds two numbers',
  input: jsonSchema({
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
  }),
  execute: (input) => {
    const { a, b } = input as { readonly a: number; readonly b: number };
    return a + b;
  },
});

/**
 * Runs an agent with this middleware. The scripted model calls `add` and then answers. Returns the
 * answer and the tools used.
 */
async function answerWith(...use: readonly Middleware[]): Promise<readonly string[]> {
  const { agent } = scriptedAgent(
    [{ toolCalls: [{ name: 'add', input: { a: 2, b: 3 } }] }, 'It is 5.'],
    { tools: [add], use },
  );
  const { text, toolsUsed } = await agent.call('What is 2 + 3?');
  return [text, ...toolsUsed];
}

const answered = ['It is 5.', 'add'];

/**
 * One smoke test per public entry. These tests import the public names, and all other tests import
 * source files.
 */
const smoke: Readonly<Record<string, readonly [run: () => Promise<unknown>, expected: unknown]>> = {
  './index': [() => answerWith(), answered],
  ...Object.fromEntries(
    httpProviders.map(({ entry, model, wire }) => [
      entry,
      [
        async () => {
          const { fetch } = answeringFetch(wire({ text: ['Hello'], finish: 'stop' })!);
          const agent = new ReActAgent({
            name: 'a',
            model: model({ model: 'm', apiKey: 'k', fetch }),
          });
          return (await agent.call('Hi')).text;
        },
        'Hello',
      ],
    ]),
  ),
  './ai-sdk': [
    async () => {
      const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello']) });
      const encoder = createUiMessageEncoder();
      const types: string[] = [];
      for await (const batch of agent.stream('Hi').batches()) {
        types.push(...encoder.encode(batch).map(({ type }) => type));
      }
      return types;
    },
    expect.arrayContaining(['start', 'text-delta', 'finish']),
  ],
  './text-protocol': [
    async () => {
      const { agent } = scriptedAgent(
        ['{"tool_name": "add", "arguments": {"a": 2, "b": 3}}', 'It is 5.'],
        { tools: [add], use: [textToolCalls()] },
      );
      return (await agent.call('What is 2 + 3?')).toolsUsed;
    },
    ['add'],
  ],
  './middleware': [
    () => answerWith(modelRequestLimit({ run: 1, text: 'Enough.' })),
    ['Enough.', 'add'],
  ],
  './presets': [
    async () => {
      const { agent } = scriptedAgent(['Hello'], { use: [arcReactor()] });
      return (await agent.call('Hi')).text;
    },
    'Hello',
  ],
  './guards': [() => answerWith(lengthGuard({ max: 5 })), [expect.stringContaining('too long')]],
  './memory-search': [
    async () => {
      const retriever = keywordRetriever([{ id: 'tea', content: 'Green tea is steamed.' }]);
      const options = { topK: 1, sessionId: 's', signal: new AbortController().signal };
      return (await retriever.retrieve('steamed tea', options)).map(({ id }) => id);
    },
    ['tea'],
  ],
  './open-telemetry': [() => answerWith(openTelemetry({ api: { trace, context } })), answered],
  './json-schema': [
    async () => (await jsonSchema({ type: 'number' })['~standard'].validate('x')).issues?.length,
    1,
  ],
  './mcp': [
    async () => {
      const tools = await mcpTools({
        url: `${inject('mcpUrl')}/servers/${crypto.randomUUID()}/mcp`,
      });
      const found = tools.find('add');
      await tools.close();
      return found;
    },
    expect.objectContaining({ name: 'add' }),
  ],
  './tokens': [async () => estimateTokens('東京タワー'), 3],
  './context': [() => answerWith(fitContext({ window: 1_000, reserveOutput: 0 })), answered],
  './recall': [() => answerWith(retrieval({ retriever: { retrieve: async () => [] } })), answered],
  './state': [
    async () => {
      const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello']) });
      await agent.call('Hi');
      return (await saveState(agent)).messages.length;
    },
    2,
  ],
  './prompt': [async () => renderTemplate('Hello ${name}', { name: 'Ann' }), 'Hello Ann'],
  './stream': [
    async () => {
      const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello']) });
      return new Response(textStream(agent.stream('Hi')).readable()).text();
    },
    'Hello',
  ],
  './kernel': [
    async () => {
      const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hello']) });
      return (await agent.call('Hi')).text;
    },
    'Hello',
  ],
  './output': [
    async () => {
      const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['{"n": 1}']) });
      return (await agent.call('Hi', { output: jsonMode() })).output;
    },
    { n: 1 },
  ],
  './observe': [() => answerWith(metrics({})), answered],
  './tools': [() => answerWith(selectTools()), answered],
  './adapter': [
    async () => {
      const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello']) });
      await agent.stream('Hi', { detached: true }).result;
      return (await attach(agent)!.result).text;
    },
    'Hello',
  ],
  './unstorage': [
    async () => {
      const store = unstorageStore(memoryDriver());
      await store.set('k', '1');
      return store.get('k');
    },
    '1',
  ],
  './testing': [async () => new ScriptedModel(['x']).requests, []],
};

test('each file beside this test is an entry and has a smoke test', () => {
  const files = Object.keys(import.meta.glob(['./*.ts', '!./*.test.ts']));
  const entries = files.map((file) => file.slice(0, -'.ts'.length));
  expect(Object.keys(smoke).toSorted()).toEqual(entries.toSorted());
});

test.for(Object.entries(smoke))('the public entry %s works', async ([, [run, expected]]) => {
  expect(await run()).toEqual(expected);
});
