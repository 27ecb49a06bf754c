import { expect, inject, test } from 'vitest';

const services = '/api/v1/services/aigc';

const post = (name: string, service: string, body: unknown): Promise<Response> =>
  fetch(`${inject('providerUrl')}/dashscope/${name}${services}/${service}-generation/generation`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'x-dashscope-sse': 'enable' },
  });

const plain = [{ role: 'user', content: 'Hi' }];
const inParts = [{ role: 'user', content: [{ text: 'Hi' }, { image: 'https://x.test/a.png' }] }];
const parameters = { result_format: 'message', incremental_output: true };

test('the DashScope server writes events in DashScope’s format', async () => {
  const response = await post('scripted', 'text', {
    model: 'm',
    input: { messages: plain },
    parameters: { ...parameters, script: ['Yes.'] },
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const [first, second, rest] = (await response.text()).split('\n\n');
  expect(first).toMatch(
    /^id:1\nevent:result\n:HTTP_STATUS\/200\ndata:{"output":{"choices":\[{"message":{"role":"assistant","content":"Yes\."/,
  );
  expect(first).toContain('"finish_reason":"null"');
  expect(second).toContain('"finish_reason":"stop"');
  expect(rest).toBe('');
});

test('the multimodal service of the DashScope server sends content as parts', async () => {
  const request = {
    model: 'm',
    input: { messages: inParts },
    parameters: { ...parameters, script: ['Yes.'], enable_thinking: true },
  };
  const text = await (await post('scripted', 'multimodal', request)).text();
  expect(text).toContain('"content":[],"reasoning_content":"Let me "');
  expect(text).toContain('"content":[{"text":"Yes."}]');
});

test.each<[problem: string, service: string, body: Record<string, unknown>]>([
  ['"model" missing', 'text', { input: { messages: plain } }],
  ['cannot both be none', 'text', { model: 'm', messages: plain }],
  ['text service takes texts', 'text', { model: 'm', input: { messages: inParts } }],
  ['lists of parts', 'multimodal', { model: 'm', input: { messages: plain } }],
  [
    'parts such as {text}',
    'multimodal',
    {
      model: 'm',
      input: { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
    },
  ],
  ['tool_call_id', 'text', { model: 'm', input: { messages: [{ role: 'tool', content: 'sun' }] } }],
  ['Role must be', 'text', { model: 'm', input: { messages: [{ role: 'USER', content: 'Hi' }] } }],
  [
    'incremental_output',
    'text',
    { model: 'm', input: { messages: plain }, parameters: { enable_thinking: true } },
  ],
  [
    'thinking_budget',
    'text',
    { model: 'm', input: { messages: plain }, parameters: { ...parameters, thinking_budget: 0 } },
  ],
  [
    '["none", "auto"]',
    'text',
    {
      model: 'm',
      input: { messages: plain },
      parameters: { ...parameters, tool_choice: 'required' },
    },
  ],
  [
    'thinking mode',
    'text',
    {
      model: 'm',
      input: { messages: plain },
      parameters: { ...parameters, enable_thinking: true, tool_choice: { type: 'function' } },
    },
  ],
])(
  'the DashScope server refuses a bad request with the message: %s',
  async (problem, service, body) => {
    const response = await post('scripted', service, body);
    const { code, message, request_id } = await response.json();
    expect([response.status, code, typeof request_id]).toEqual([400, 'InvalidParameter', 'string']);
    expect(message).toContain(problem);
  },
);

test('the DashScope server answers 404 for an unknown name or service', async () => {
  expect((await post('none', 'text', { model: 'm', input: { messages: plain } })).status).toBe(404);
  expect(
    (await post('scripted', 'speech', { model: 'm', input: { messages: plain } })).status,
  ).toBe(404);
});
