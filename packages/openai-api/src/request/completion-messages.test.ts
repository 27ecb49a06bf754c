import { expect, test } from 'vitest';
import { bindings, testEndpoint } from '../../../edge/test-support/endpoint.ts';
import { clock } from '../../../edge/test-support/plain-tools.ts';

const tools = [
  { type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false },
] as const;
const asked = { role: 'user', content: 'Hi' };
const said = { role: 'assistant', content: 'Yes?' };
const shows = (part: object) => ({
  role: 'user',
  content: [{ type: 'input_text', text: 'See:' }, part],
});
const image = (url: unknown) => shows({ type: 'input_image', image_url: url });
const calls = (name = 'weather', id = 'c1') => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: '{}',
});
const result = (output: unknown = 'Rain', id = 'c1') => ({
  type: 'function_call_output',
  call_id: id,
  output,
});

interface Answer {
  readonly id: string;
  readonly error: {
    readonly code: string;
    readonly param: string | null;
    readonly message: string;
  };
}

test.each<[string, string, readonly object[]]>([
  ['a message of the assistant at the end', 'input[1]', [asked, said]],
  ['a file of this machine', 'input[2].content[1].image_url', [asked, said, image('file:///a')]],
  ['an address without a host', 'input[0].content[1].image_url', [image('/a.png')]],
  ['an empty address', 'input[0].content[1].image_url', [image('')]],
  ['an address that is no text', 'input[0].content[1].image_url', [image(1)]],
  [
    'a file by ftp',
    'input[0].content[1].file_url',
    [shows({ type: 'input_file', file_url: 'ftp://a/b' })],
  ],
  [
    'a file that is no data URL',
    'input[0].content[1].file_data',
    [shows({ type: 'input_file', file_data: 'QUJD' })],
  ],
  [
    'a file in a result',
    'input[2].output[0].image_url',
    [asked, calls(), result([{ type: 'input_image', image_url: 'file:///a' }])],
  ],
  ['a call of a tool of the agent', 'input[1]', [asked, calls('clock'), result()]],
  ['an open call', 'input[2]', [asked, { type: 'reasoning', summary: [] }, calls()]],
  ['a second result', 'input[3]', [asked, calls(), result(), result()]],
  ['a result without a call', 'input[1]', [asked, result()]],
  ['a second call with the same id', 'input[3]', [asked, calls(), result(), calls(), result()]],
  ['a blank id', 'input[1]', [asked, calls('weather', ' '), result('Rain', ' ')]],
  ['a result that is too long', 'input[2]', [asked, calls(), result('x'.repeat(300_000))]],
  ['too many items', 'input', Array.from({ length: 1001 }, () => asked)],
])('the error names the item: %s', async (_what, param, input) => {
  const target = testEndpoint(['Never.'], { tools: [clock] });
  const response = await target.post('/v1/responses', { model: 'offline', tools, input });
  const { error } = (await response.json()) as Answer;
  expect([response.status < 500, error.param]).toEqual([true, param]);
  expect(target.model.requests).toEqual([]);
});

test.each<[string, string, string, readonly object[]]>([
  ['a result of another call', 'INVALID_DECISION', 'input[0]', [result('Rain', 'c2')]],
  ['a second result', 'INVALID_DECISION', 'input[1]', [result(), result()]],
  ['a result after a reply', 'INVALID_DECISION', 'input[2]', [asked, said, result('Rain', 'c2')]],
  [
    'instructions beside a result',
    'INVALID_INPUT',
    'input[1]',
    [result(), { role: 'developer', content: 'Be brief.' }],
  ],
  ['a question beside a result', 'INVALID_INPUT', 'input', [result(), asked]],
  ['nothing new', 'INVALID_INPUT', 'input', [asked, said]],
])('in a session, the error names the item: %s', async (_what, code, param, input) => {
  const replies = [{ toolCalls: [{ id: 'c1', name: 'weather' }] }, 'Never.'];
  const target = testEndpoint(replies, {}, {}, bindings);
  const body = { model: 'offline', tools };
  const first = await target.post('/v1/responses', { ...body, input: 'Rain?', store: true });
  const { id } = (await first.json()) as Answer;
  await target.settled();
  const next = { ...body, input, previous_response_id: id };
  const { error } = (await (await target.post('/v1/responses', next)).json()) as Answer;
  expect(error).toMatchObject({ code, param });
});

test('in chat completions, the error names the message', async () => {
  const target = testEndpoint(['Never.']);
  const post = async (messages: readonly object[], session?: string): Promise<Answer> => {
    const headers = session === undefined ? {} : { 'x-isoloop-session': session };
    const body = { model: 'offline', messages };
    return (await target.post('/v1/chat/completions', body, 'ann', headers)).json();
  };
  expect((await post([asked, said])).error.param).toBe('messages[1]');
  const answer = { role: 'tool', tool_call_id: 'c1', content: 'Rain' };
  const { error } = await post([asked, said, answer], crypto.randomUUID());
  expect(error).toMatchObject({ code: 'INVALID_DECISION', param: 'messages[2]' });
});

test.each([
  ['GET', '/v1/responses/resp_1'],
  ['DELETE', '/v1/responses/resp_1'],
  ['POST', '/v1/responses/resp_1/cancel'],
  ['GET', '/v1/responses/resp_1/input_items?limit=2'],
])('a stored response cannot be read: %s %s', async (method, path) => {
  const target = testEndpoint(['Never.'], {}, { cors: ['https://app.example'] });
  const headers = { authorization: 'Bearer ann', origin: 'https://app.example' };
  const response = await target.fetch(path, { method, headers });
  expect(response.status).toBe(404);
  expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
  expect(response.headers.get('x-request-id')).toBeTruthy();
  const { error } = (await response.json()) as Answer;
  expect(error).toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('continued') });
});

test('the openai client gets a typed error for `responses.retrieve`', async () => {
  const { responses } = testEndpoint(['Never.']).client();
  await expect(responses.retrieve('resp_1')).rejects.toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
  });
});
