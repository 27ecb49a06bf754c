import { expect, test } from 'vitest';
import { jsonSchema } from '@isoloop/core/schema';
import { assistantMessage, createMessage, tool, userMessage } from '@isoloop/core';
import * as z from 'zod';
import { sessionMoves } from '../move/index.ts';
import { openAiRoutes } from '../../../openai-api/src/index.ts';
import { copyOf, suspended } from '../../test-support/moves.ts';
import { bindings, testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import { llmProxy } from '../llm/llm-proxy.ts';

/** Values that fail if a program converts them, or takes them for another type. */
const oddValues: readonly string[] = [
  '{"toString":"x"}',
  '{"valueOf":1,"toString":1}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{}}}',
  '{"length":1e9}',
  '{"toJSON":"x","then":"x"}',
  '[]',
  '[[{"toString":"x"}]]',
  '[null]',
  '"NaN"',
  '1e400',
  '-1e308',
  '9007199254740993',
  'true',
  '""',
  '"\\ud800"',
];

const settings = { temperature: 1, top_p: 1, parallel_tool_calls: true, stream: false, user: 'u' };
const fn = { name: 'look', description: 'Looks', parameters: { type: 'object' }, strict: false };
const schema = { type: 'object', properties: { a: { type: 'string', enum: ['b'] } } };
const image = 'data:image/png;base64,AAAA';
const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
const chatBody = {
  ...settings,
  model: 'offline',
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      name: 'ann',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'image_url', image_url: { url: image, detail: 'low' } },
      ],
    },
    { role: 'assistant', content: 'Well.', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: 'ok' },
  ],
  tools: [{ type: 'function', function: fn }],
  tool_choice: 'auto',
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } },
  max_tokens: 10,
  max_completion_tokens: 10,
  seed: 1,
  stop: ['x'],
  stream_options: null,
  n: 1,
  metadata: { a: 'b' },
};
const responsesBody = {
  ...settings,
  model: 'offline',
  instructions: 'Be brief.',
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: image, detail: 'low' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
      ],
    },
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'ok' }] },
  ],
  tools: [{ type: 'function', ...fn }],
  tool_choice: 'auto',
  text: { format: { type: 'json_schema', name: 'a', schema }, verbosity: 'medium' },
  max_output_tokens: 10,
  reasoning: { summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  previous_response_id: null,
  store: false,
};
const uiMessage = {
  id: 'm1',
  role: 'user',
  metadata: { echo: null },
  parts: [
    { type: 'text', text: 'Hi' },
    { type: 'file', mediaType: 'image/png', filename: 'a.png', url: image },
  ],
};
const decided = {
  id: 'a1',
  role: 'assistant',
  parts: [
    {
      type: 'dynamic-tool',
      toolName: 'look',
      toolCallId: 'c1',
      state: 'approval-responded',
      approval: { id: 'c1', approved: true, reason: 'x', input: { a: 1 } },
      output: { a: 1 },
      errorText: 'x',
      preliminary: false,
    },
  ],
};
const { metadata: _metadata, user: _user, ...forwarded } = chatBody;
const { previous_response_id: _id, user: _user2, ...forwardedResponse } = responsesBody;

const result = { type: 'tool_result', toolUseId: 'c1', name: 'look', state: 'success' } as const;
const sources = [{ type: 'url', url: 'https://example.com/', title: 'a' }];
const imported = copyOf(
  'S',
  [
    userMessage([{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }]),
    assistantMessage(
      [
        { type: 'text', text: 'a', providerMetadata: { sources } },
        {
          type: 'thinking',
          thinking: '',
          signature: 's',
          providerMetadata: { hostedTool: { id: 'h', name: 'n', input: {}, output: 1 } },
        },
        { type: 'tool_use', id: 'c1', name: 'look', input: {}, raw: '{ }' },
      ],
      { metadata: { usage: { inputTokens: 1 }, partial: 'aborted', finishReason: 'length' } },
    ),
    createMessage('tool', [
      {
        ...result,
        output: [{ type: 'text', text: 'x' }],
        providerMetadata: { json: true, dataParts: [{ type: 'data-a', data: 1 }] },
      },
    ]),
  ],
  [{ kind: 'state', state: { title: 'x', values: { a: 1 } } }, suspended('c2', 'approval')],
);

const bodies: readonly (readonly [path: string, body: object, method?: string])[] = [
  ['/api/chat', { id: 'S', model: 'offline', trigger: 'submit-message', messages: [uiMessage] }],
  ['/api/chat', { id: 'S', messages: [uiMessage, decided], messageId: 'a1', events: true }],
  ['/api/chat', { id: 'S', trigger: 'regenerate-message', messageId: 'm1', messages: [uiMessage] }],
  ['/api/run', { sessionId: 'S', model: 'offline', input: uiMessage }],
  [
    '/api/run',
    {
      sessionId: 'S',
      decisions: [
        { toolUseId: 'c1', type: 'edit', name: 'look', input: { a: 1 } },
        { toolUseId: 'c2', type: 'result', output: 'x', state: 'success' },
        { toolUseId: 'c3', type: 'reject', reason: 'x' },
      ],
    },
  ],
  ['/api/chat/S/interrupt', { mode: 'stop', reason: 'x' }],
  ['/api/chat/S', { title: 'x' }, 'PATCH'],
  ['/api/chat/S', imported, 'PUT'],
  ['/v1/chat/completions', chatBody],
  ['/v1/responses', responsesBody],
  ['/llm/v1/chat/completions', forwarded],
  ['/llm/v1/responses', forwardedResponse],
];

function openAll(): TestEndpoint {
  const answer = () => Response.json({ choices: [] });
  const upstream = () => ({ apiKey: 'sk-0123456789', fetch: async () => answer() });
  return testEndpoint(
    Array.from({ length: 3000 }, () => '{"a":"b"}'),
    {},
    {
      approvals: 'at-least-once',
      moves: sessionMoves(),
      openai: openAiRoutes({
        jsonSchema,
        clientSettings: ['maxTokens', 'temperature', 'topP', 'seed', 'stop'],
      }),
      llm: llmProxy({ models: ['offline'], upstream }),
    },
    { ...bindings, SESSION_SECRET: 'a secret of at least thirty-two letters' },
  );
}

const marker = '@@odd@@';

/** Returns copies of a value in which one value, at any depth, is the marker. */
function withMarker(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [marker];
  const copies = Object.entries(value).flatMap(([key, part]) =>
    withMarker(part).map((changed) => {
      const copy = structuredClone(value) as Record<string, unknown>;
      copy[key] = changed;
      return copy;
    }),
  );
  return [marker, ...copies];
}

test.for(bodies)(
  '%s: no value of the wrong type in a field of the body is an error of the endpoint: %j',
  { timeout: 120_000 },
  async ([path, body, method = 'POST']) => {
    const target = openAll();
    const failures: string[] = [];
    let count = 0;
    for (const changed of withMarker(body)) {
      for (const odd of oddValues) {
        const session = `s${count++}`;
        const text = JSON.stringify(changed)
          .replaceAll('"S"', JSON.stringify(session))
          .replace(JSON.stringify(marker), odd);
        const response = await target.fetch(path.replace('/S', `/${session}`), {
          method,
          headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
          body: text,
        });
        const shown = await target.get(`/api/chat/${session}/messages`, 'ann');
        const answer = (await response.text()) + (shown.status >= 500 ? await shown.text() : '');
        // KV cannot interrupt a turn, and the answer of the model does not fit each schema.
        const isFailure = response.status >= 500 && !/NEEDS_DURABLE|OUTPUT_INVALID/.test(answer);
        if (isFailure || /INTERNAL|Something went wrong/.test(answer))
          failures.push(`${response.status} ${text} ${answer}`.slice(0, 2000));
      }
    }
    await target.settled();
    expect(failures).toEqual([]);
  },
);

test('no arguments of an edit are an error of the endpoint, and wrong ones do not run the tool', async () => {
  const sums: number[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ sum: z.number().positive().max(100), note: z.string().optional() }),
    needsApproval: true,
    execute: ({ sum }) => `paid ${sums.push(sum)}`,
  });
  const asks = { toolCalls: [{ id: 'c1', name: 'pay', input: { sum: 5 } }] };
  for (const odd of oddValues) {
    for (const input of [odd, `{"sum":${odd}}`, `{"sum":6,"note":${odd}}`]) {
      const target = testEndpoint(
        [asks, 'Done.'],
        { tools: [pay] },
        { approvals: 'at-least-once' },
      );
      const sessionId = crypto.randomUUID();
      await (await target.post('/api/run', { sessionId, input: 'Pay.' })).text();
      const decision = `{"toolUseId":"c1","type":"edit","input":${input}}`;
      const body = `{"sessionId":"${sessionId}","decisions":[${decision}]}`;
      const response = await target.post('/api/run', body);
      expect([input, response.status, await response.text()]).toEqual([
        input,
        expect.toSatisfy((status) => status === 200 || status === 400),
        expect.not.stringMatching(/INTERNAL|Something went wrong/),
      ]);
      await target.settled();
    }
  }
  // A text and a field that the schema does not know are valid notes.
  expect(new Set(sums)).toEqual(new Set([6]));
});
