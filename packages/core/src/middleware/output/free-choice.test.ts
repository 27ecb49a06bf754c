import { expect, test } from 'vitest';
import * as z from 'zod';
import { openai } from '../../openai.ts';
import { ReActAgent } from '../../preset/react-agent.ts';
import { structured } from './structured.ts';

type Body = Readonly<Record<string, unknown>>;

const city = z.object({ city: z.string() });
const named = { type: 'function', function: { name: 'generate_response' } };

/** A server that answers with these texts, and with 400 and `refusal` to a forced call. */
function serverOf(refusal: string, texts: string[]) {
  const bodies: Body[] = [];
  const model = openai({
    model: 'm',
    baseURL: 'http://localhost:1234/v1',
    fetch: async (_url, init) => {
      const body = JSON.parse(String(init.body)) as Body;
      bodies.push(body);
      if (typeof body['tool_choice'] === 'object')
        return Response.json({ error: refusal }, { status: 400 });
      const message = { content: texts.shift() };
      return Response.json({ choices: [{ message, finish_reason: 'stop' }] });
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
