import { requestEndpoint } from '@isoloop/core/endpoint';
import { attach } from '@isoloop/core/event';
import { beginTurn } from '@isoloop/core/host';
import { moveSession, storePlace } from '@isoloop/core/move';
import { createUiMessageEncoder } from '@isoloop/core/stream';
import { fitContext } from '@isoloop/core/context';
import { metrics } from '@isoloop/core/observe';
import { jsonMode } from '@isoloop/core/output';
import { renderTemplate } from '@isoloop/core/prompt';
import { saveState } from '@isoloop/core/state';
import { estimateTokens } from '@isoloop/core/tokens';
import { selectTools } from '@isoloop/core/selection';
import { unstorageStore } from '@isoloop/core/memory';
import memoryDriver from 'unstorage/drivers/memory';
import {
  MemoryStore,
  ReActAgent,
  SessionMemory,
  tool,
  userMessage,
  type Middleware,
} from '@isoloop/core';
import { SessionFold } from '@isoloop/core/log';
import { jsonSchema } from '@isoloop/core/schema';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@isoloop/core/agent';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { directAnswers } from '@isoloop/core/answer';
import { approvals } from '@isoloop/core/approval';
import { classifyError } from '@isoloop/core/error';
import { mapTexts } from '@isoloop/core/message';
import { checkOptions, string } from '@isoloop/core/options';
import { addUsage, noUsage } from '@isoloop/core/model';
import { retry } from '@isoloop/core/resilience';
import { reuseResults } from '@isoloop/core/results';
import { operator } from '@isoloop/core/several';
import { steering } from '@isoloop/core/steering';
import { Toolkit } from '@isoloop/core/tool';
import { abortable } from '@isoloop/core/wait';
import { chatCompletions } from '@test/support/wire-formats.ts';
import manifest from '../../package.json' with { type: 'json' };
import { modelRequestLimit } from '@isoloop/core/limits';
import { openTelemetry } from '@isoloop/core/open-telemetry';
import { ScriptedModel } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { context, trace } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { httpProviders } from '@test/support/providers.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { answeringFetch } from '../testing/answering-fetch.ts';

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
  '.': [() => answerWith(), answered],
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
  './stream': [
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
  './limits': [
    () => answerWith(modelRequestLimit({ run: 1, text: 'Enough.' })),
    ['Enough.', 'add'],
  ],
  './open-telemetry': [() => answerWith(openTelemetry({ api: { trace, context } })), answered],
  './schema': [
    async () => (await jsonSchema({ type: 'number' })['~standard'].validate('x')).issues?.length,
    1,
  ],
  './tokens': [async () => estimateTokens('東京タワー'), 3],
  './context': [() => answerWith(fitContext({ window: 1_000, reserveOutput: 0 })), answered],
  './state': [
    async () => {
      const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello']) });
      await agent.call('Hi');
      return (await saveState(agent)).messages.length;
    },
    2,
  ],
  './prompt': [async () => renderTemplate('Hello ${name}', { name: 'Ann' }), 'Hello Ann'],
  './agent': [
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
  './selection': [() => answerWith(selectTools()), answered],
  './host': [
    async () => {
      const { memory, tools, status } = new ReActAgent({
        name: 'a',
        model: new ScriptedModel(['Hello']),
      });
      const request = { kind: 'message', message: userMessage('Hi') } as const;
      const { input } = await beginTurn({ memory, tools, status }, request);
      return input === request.message;
    },
    true,
  ],
  './move': [
    async () => {
      const stores = [new MemoryStore(), new MemoryStore()] as const;
      await new SessionMemory(stores[0], 's').append([userMessage('Hi', { id: 'q' })]);
      const [from, to] = stores.map((store, index) =>
        storePlace({ name: `store:${index}`, store }),
      );
      await moveSession('s', { from: from!, to: to! });
      return (await new SessionMemory(stores[1], 's').read()).map(({ id }) => id);
    },
    ['q'],
  ],
  './endpoint': [
    async () => {
      const fetch = async (): Promise<Response> => new Response('Hello');
      return (await requestEndpoint({ url: 'https://a.test', init: {}, fetch })).text();
    },
    'Hello',
  ],
  './memory': [
    async () => {
      const store = unstorageStore(memoryDriver());
      await store.set('k', '1');
      return store.get('k');
    },
    '1',
  ],
  './ai-sdk': [
    async () => {
      const { fetch } = answeringFetch(chatCompletions({ text: ['Hello'], finish: 'stop' })!);
      const model = fromAiSdk(
        createOpenAI({ apiKey: 'k', fetch: fetch as typeof globalThis.fetch }).chat('m'),
      );
      return (await new ReActAgent({ name: 'a', model }).call('Hi')).text;
    },
    'Hello',
  ],
  './error': [async () => classifyError(new Error('socket hang up')).code, 'MODEL_UNREACHABLE'],
  './options': [
    async () => {
      const check = (): void => checkOptions('f()', { a: 1 }, { a: string });
      try {
        return check();
      } catch (error) {
        return (error as Error).message;
      }
    },
    'f(): a must be a string; got 1.',
  ],
  './log': [
    async () =>
      new SessionFold()
        .add([{ kind: 'message', message: userMessage('Hi', { id: 'q' }) }])
        .messages.map(({ id }) => id),
    ['q'],
  ],
  './message': [async () => mapTexts([], (text) => text), []],
  './model': [async () => addUsage(noUsage, { inputTokens: 2, outputTokens: 1 }).inputTokens, 2],
  './event': [
    async () => {
      const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hello']) });
      await agent.stream('Hi', { detached: true }).result;
      return (await attach(agent)!.result).text;
    },
    'Hello',
  ],
  './tool': [async () => new Toolkit([add]).schemas().map(({ name }) => name), ['add']],
  './wait': [async () => abortable(Promise.resolve(1), new AbortController().signal), 1],
  './approval': [() => answerWith(approvals()), answered],
  './steering': [() => answerWith(steering()), answered],
  './answer': [() => answerWith(directAnswers()), answered],
  './resilience': [() => answerWith(retry()), answered],
  './results': [() => answerWith(reuseResults()), answered],
  './several': [() => answerWith(operator()), answered],
  './testing': [async () => new ScriptedModel(['x']).requests, []],
};

test('each entry of the package has a smoke test', () => {
  const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json');
  expect(Object.keys(smoke).toSorted()).toEqual(entries.toSorted());
});

test.for(Object.entries(smoke))('the public entry %s works', async ([, [run, expected]]) => {
  expect(await run()).toEqual(expected);
});
