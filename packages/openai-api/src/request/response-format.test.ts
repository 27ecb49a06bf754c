import { jsonSchema } from '@isoloop/core/schema';
import { openAiRoutes } from '../index.ts';
import { expect, test } from 'vitest';
import { testEndpoint } from '../../../edge/test-support/endpoint.ts';
import { type Params, question } from '../../test-support/weather-client.ts';

test('the endpoint checks and repairs a JSON answer, with and without a schema, whole and streamed', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    required: ['n'],
    additionalProperties: false,
  };
  const format: Params['response_format'] = {
    type: 'json_schema',
    json_schema: { name: 'count', schema, strict: true },
  };
  const target = testEndpoint(
    ['{"n":"many"}', 'Here: {"n":3}', '{"n":"many"}', '{"n":4}', '[1]'],
    {},
    { openai: openAiRoutes({ jsonSchema }) },
  );
  const openai = target.client();
  const whole = await openai.chat.completions.create({
    model: 'offline',
    messages: [question],
    response_format: format,
  });
  expect(JSON.parse(whole.choices[0]!.message.content!)).toEqual({ n: 3 });
  expect(target.model.requests[0]).toMatchObject({ responseSchema: schema });

  const stream = await openai.chat.completions.create({
    model: 'offline',
    messages: [question],
    response_format: format,
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  expect(JSON.parse(text)).toEqual({ n: 4 });

  const free = await openai.chat.completions.create({
    model: 'offline',
    messages: [question],
    response_format: { type: 'json_object' },
  });
  expect(JSON.parse(free.choices[0]!.message.content!)).toEqual([1]);
});

test("the patterns of a client's schema reach the model, and no answer is checked with them", async () => {
  const schema = {
    type: 'object',
    properties: {
      pattern: { type: 'string', pattern: '^(a+)+$' },
      more: { anyOf: [{ patternProperties: { '^(a+)+$': true }, additionalProperties: false }] },
    },
    required: ['pattern'],
  };
  const answer = JSON.stringify({ pattern: `${'a'.repeat(20)}!`, more: { b: 1 } });
  const target = testEndpoint(
    ['{"pattern":1}', answer],
    {},
    { openai: openAiRoutes({ jsonSchema }) },
  );
  const { choices } = await target.client().chat.completions.create({
    model: 'offline',
    messages: [question],
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
  });
  expect(choices[0]!.message.content).toBe(answer);
  expect(target.model.requests[0]).toMatchObject({ responseSchema: schema });
});
