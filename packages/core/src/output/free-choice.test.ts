import { expect, test } from 'vitest';
import * as z from 'zod';
import { openai } from '../model/openai/openai.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { jsonMode } from './json-and-yaml-mode.ts';
import { structured } from './structured.ts';

type Body = Readonly<Record<string, unknown>>;

const city = z.object({ city: z.string() });
const named = { type: 'function', function: { name: 'generate_response' } };

/**
 * A server that answers with these texts, and with 400 and `refusal` to a forced call. Without
 * `refusal`, it says that the text is a call. `claims`: it says so of each text.
 */
function serverOf(refusal: string | undefined, texts: string[], claims = false) {
  const bodies: Body[] = [];
  const model = openai({
    model: 'm',
    baseURL: 'http://localhost:1234/v1',
    fetch: async (_url, init) => {
      const body = JSON.parse(String(init.body)) as Body;
      bodies.push(body);
      const isForced = typeof body['tool_choice'] === 'object';
      if (isForced && refusal) return Response.json({ error: refusal }, { status: 400 });
      const message = { content: texts.shift(), tool_calls: [] };
      const finish_reason = isForced || claims ? 'tool_calls' : 'stop';
      return Response.json({ choices: [{ message, finish_reason }] });
    },
  });
  return { bodies, agent: new ReActAgent({ name: 'a', model }) };
}

test.each([
  "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
  'Thinking mode does not support this tool_choice',
  'The tool_choice parameter does not support being set to required or object in thinking mode',
])('a server that refuses a forced call gets the request without: %s', async (refusal) => {
  const { bodies, agent } = serverOf(refusal, ['Rome', 'It is Rome.', '{"city":"Rome"}']);
  const { output } = await agent.call('Where?', { output: structured(city) });
  expect(output).toEqual({ city: 'Rome' });
  const asked = bodies.map((body) => [body['tool_choice'], Boolean(body['response_format'])]);
  expect(asked).toEqual([
    [undefined, false],
    [named, false],
    [undefined, false],
    [undefined, true],
  ]);
});

test('another refusal of the forced call is an error', async () => {
  const { bodies, agent } = serverOf('Invalid schema', ['Rome']);
  const call = agent.call('Where?', { output: structured(city) });
  await expect(call).rejects.toMatchObject({ code: 'MODEL_REQUEST' });
  expect(bodies).toHaveLength(2);
});

// https://github.com/vllm-project/vllm/issues/53255
test('a text that claims to be the forced call is followed by a request with the schema', async () => {
  const { bodies, agent } = serverOf(undefined, ['Rome', 'It is Rome.', '{"city":"Rome"}']);
  const { output } = await agent.call('Where?', { output: structured(city) });
  expect(output).toEqual({ city: 'Rome' });
  const asked = bodies.map((body) => [body['tool_choice'], Boolean(body['response_format'])]);
  expect(asked).toEqual([
    [undefined, false],
    [named, false],
    [undefined, true],
  ]);
});

// https://github.com/BerriAI/litellm/issues/10103
test.each([
  ['structured()', structured(city, { mode: 'prompt' })],
  ['jsonMode()', jsonMode(city)],
])('%s: JSON for a schema is the reply, also if it claims to be a call', async (...row) => {
  const { bodies, agent } = serverOf(undefined, ['{"city":"Rome"}'], true);
  const { output } = await agent.call('Where?', { output: row[1] });
  expect(output).toEqual({ city: 'Rome' });
  expect(bodies).toHaveLength(1);
});
