import * as vitest from 'vitest';
import { expect, test } from 'vitest';
import { rulesOf } from '@test/request-rules/broken-rules.ts';
import { httpProviders } from '@test/support/providers.ts';
import type { ModelDelta, ChatModel } from '../model/chat-model.ts';
import { modelConformance, type HttpModelUnderTest } from './model-conformance.ts';
import type { ConformanceReply } from './model-outcome.ts';
import { ScriptedModel } from './scripted-model.ts';
import { chatCompletions } from '@test/support/wire-formats.ts';
import { AgentError } from '../error/agent-error.ts';
import { withStream } from '../model/wrap-model.ts';
import { openai } from '../model/openai/openai.ts';
import type { Fetch } from '../model/http/http-model.ts';

for (const { name, model, wire, rules } of httpProviders)
  modelConformance(vitest, `${name}()`, {
    model: (fetch) => model({ model: 'm', apiKey: 'k', fetch }),
    wire,
    rules: rulesOf(rules),
  });

modelConformance(vitest, 'ScriptedModel', { modelWith: scripted });

function scripted(reply: ConformanceReply): ScriptedModel {
  const { thinking = [], text = [], toolCalls = [], finish, usage } = reply;
  const deltas: readonly ModelDelta[] = [
    ...thinking.map((delta): ModelDelta => ({ type: 'thinking', id: 't', delta })),
    ...text.map((delta): ModelDelta => ({ type: 'text', id: 'a', delta })),
    ...toolCalls.flatMap(({ id, name, arguments: pieces }, index): readonly ModelDelta[] => [
      { type: 'tool-input', index, id, name, delta: '' },
      ...pieces.map((delta): ModelDelta => ({ type: 'tool-input', index, delta })),
    ]),
    { type: 'finish', reason: finish, ...(usage && { usage }) },
  ];
  return new ScriptedModel([[{ deltas: deltas.map((delta) => [delta]) }]]);
}

interface Check {
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** Returns the titles of the tests that this model fails. */
async function failuresOf(
  model: (fetch: Fetch) => ChatModel,
  rules?: HttpModelUnderTest['rules'],
): Promise<readonly string[]> {
  const checks: Check[] = [];
  const framework = {
    describe: (_name: string, define: () => void) => define(),
    test: (title: string, run: Check['run']) => void checks.push({ title, run }),
    expect,
  };
  const target = { model, wire: chatCompletions, maxSplits: 20, ...(rules && { rules }) };
  modelConformance(framework, 'a model', target);
  const failed: string[] = [];
  for (const { title, run } of checks) await run().catch(() => failed.push(title));
  return failed;
}

const correct = (fetch: Fetch): ChatModel => openai({ model: 'm', apiKey: 'k', fetch });

/** Returns a model that changes each delta. */
const changing =
  (change: (delta: ModelDelta) => readonly ModelDelta[]) =>
  (fetch: Fetch): ChatModel => {
    const inner = correct(fetch);
    return withStream(inner, async function* (request, context) {
      for await (const deltas of inner.stream(request, context)) yield deltas.flatMap(change);
    });
  };

/** Returns a model that handles errors in its own way. */
const catching =
  (handle: (error: AgentError) => readonly ModelDelta[]) =>
  (fetch: Fetch): ChatModel => {
    const inner = correct(fetch);
    return withStream(inner, async function* (request, context) {
      try {
        yield* inner.stream(request, context);
      } catch (error) {
        yield handle(AgentError.from(error));
      }
    });
  };

const repaired = (text: string): string => (text.startsWith('{"city": ') ? '{}' : text);
const without = (type: ModelDelta['type']) => (delta: ModelDelta) =>
  delta.type === type ? [] : [delta];

const faults: readonly (readonly [what: string, model: typeof correct, failed: RegExp])[] = [
  ['has no thinking', changing(without('thinking')), /reply with thinking arrives unchanged/],
  ['has no finish delta', changing(without('finish')), /ends with one finish delta/],
  [
    'repeats the finish delta',
    changing((delta) => (delta.type === 'finish' ? [delta, delta] : [delta])),
    /ends with one finish delta/,
  ],
  [
    'gives all calls one id',
    changing((delta) => [delta.type === 'tool-input' && delta.id ? { ...delta, id: 'c' } : delta]),
    /an id and an index of its own/,
  ],
  [
    'joins all calls',
    changing((delta) => [delta.type === 'tool-input' ? { ...delta, index: 0 } : delta]),
    /reply with tools arrives unchanged/,
  ],
  [
    'replaces arguments that are not JSON',
    changing((delta) => [
      delta.type === 'tool-input' ? { ...delta, delta: repaired(delta.delta) } : delta,
    ]),
    /never become an input/,
  ],
  [
    'loses the usage',
    changing((delta) =>
      delta.type === 'finish' ? [{ type: 'finish', reason: delta.reason }] : [delta],
    ),
    /usage contains the token counts/,
  ],
  [
    'has a finish reason that nobody knows',
    changing((delta) =>
      delta.type === 'finish' && delta.reason === 'length'
        ? [{ ...delta, reason: 'full' }]
        : [delta],
    ),
    /reached the limit of its length/,
  ],
  [
    'has one finish reason',
    changing((delta) => [delta.type === 'finish' ? { ...delta, reason: 'end' } : delta]),
    /whether the reply reached the limit/,
  ],
  [
    'ends a broken reply as if it were complete',
    catching(() => [{ type: 'finish', reason: 'stop' }]),
    /text that ends early fails/,
  ],
  [
    'has one code for all errors',
    catching((error) => {
      throw new AgentError('MODEL_SERVER', error.message);
    }),
    /HTTP 429 with .* rejects with MODEL_RATE_LIMITED/,
  ],
  [
    'ignores an abort before the request',
    (fetch) => {
      const inner = correct(fetch);
      return withStream(inner, (request, { signal }) =>
        inner.stream(request, {
          signal: signal.aborted ? new AbortController().signal : signal,
        }),
      );
    },
    /a request whose signal is aborted fails/,
  ],
  [
    'decodes each piece alone',
    (fetch) =>
      correct(async (url, init) => {
        const response = await fetch(url, init);
        const decoder = new TransformStream<Uint8Array, Uint8Array>({
          transform: (bytes, controller) =>
            controller.enqueue(new TextEncoder().encode(new TextDecoder().decode(bytes))),
        });
        return new Response(response.body!.pipeThrough(decoder), response);
      }),
    /arrive byte by byte/,
  ],
  [
    'sends no tools',
    (fetch) => {
      const inner = correct(fetch);
      return withStream(inner, (request, context) =>
        inner.stream({ ...request, tools: [] }, context),
      );
    },
    /a request contains the conversation and the tools/,
  ],
  [
    'puts something new into each request',
    (fetch) => {
      let count = 0;
      return correct((url, init) =>
        fetch(url, { ...init, body: `${init.body as string}${(count += 1)}` }),
      );
    },
    /same request has the same body/,
  ],
];

test('a correct model passes the conformance suite', async () => {
  expect(await failuresOf(correct)).toEqual([]);
});

test.for(faults)('the conformance suite finds a model that %s', async ([, model, failed]) => {
  expect((await failuresOf(model)).join('\n')).toMatch(failed);
});

/** Returns a model that changes the text of each body. */
const sending =
  (change: (body: string) => string) =>
  (fetch: Fetch): ChatModel =>
    correct((url, init) => fetch(url, { ...init, body: change(String(init.body)) }));

test('a model that sends half an emoji fails, without rules of its own', async () => {
  const failed = await failuresOf(sending((body) => body.replace('Oslo', '\\ud83d')));
  expect(failed).toContain('a server accepts the request with a plain history');
});

test('a model that breaks a rule of its format fails', async () => {
  const change = (body: string): string => body.replace('"stream":true', '"of_nobody":true');
  const failed = await failuresOf(sending(change), rulesOf('chat-completions'));
  expect(failed).toContain('a server accepts the request with a plain history');
});

test('a function checks the requests of a format of its own', async () => {
  const bodies: string[] = [];
  const failed = await failuresOf(correct, (body, url) => {
    bodies.push(`${url} ${body}`);
    return body.includes('天气') ? ['The name is not ASCII.'] : [];
  });
  expect(bodies[0]).toMatch(/\/chat\/completions \{/);
  expect(failed.filter((title) => !/天气/.test(title))).toEqual([]);
});
