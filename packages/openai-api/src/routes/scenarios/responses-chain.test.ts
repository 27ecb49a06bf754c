import { createOpenAI } from '@ai-sdk/openai';
import { AgentError, textOf, type AgentOptions, type Msg } from '@isoloop/core';
import { inputGuard } from '@isoloop/guards';
import type { ScriptedReply } from '@isoloop/core/testing';
import { generateText } from 'ai';
import type OpenAI from 'openai';
import { beforeEach, expect, test, vi } from 'vitest';
import { boundEndpoint, places, type Bound } from '../../../../edge/test-support/both-bindings.ts';
import { bindings, testEndpoint } from '../../../../edge/test-support/endpoint.ts';
import { clock } from '../../../../edge/test-support/plain-tools.ts';

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;
type Input = OpenAI.Responses.ResponseInput;

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  description: 'Of a city',
  parameters: { type: 'object' },
  strict: false,
};
const asksWeather: ScriptedReply = { toolCalls: [{ id: 'call_1', name: 'weather', input: {} }] };
const rain = (output = 'Rain'): Input => [
  { type: 'function_call_output', call_id: 'call_1', output },
];
const broken = new AgentError('MODEL_SERVER', 'It broke.');
const sessionOf = (bound: Bound) => bound.client(undefined, { 'x-isoloop-session': bound.id });
const saidIn = (messages: readonly Msg[]): readonly string[] =>
  messages.map((message) => {
    const [block] = message.content;
    return block?.type === 'tool_result' ? String(block.output) : textOf(message);
  });

/** Asks with `create`, or with `stream`. The stream's first event has the id of the response. */
const ways = ['create', 'stream'] as const;
async function ask(
  client: OpenAI,
  way: (typeof ways)[number],
  body: Params,
): Promise<{ readonly id?: string; readonly text?: string; readonly code?: string }> {
  let id: string | undefined;
  try {
    if (way === 'create') {
      const response = await client.responses.create(body);
      return { id: response.id, text: response.output_text };
    }
    const stream = client.responses.stream(body);
    stream.on('response.created', (event) => (id = event.response.id));
    return { id: '', text: (await stream.finalResponse()).output_text, ...(id && { id }) };
  } catch (error) {
    return { ...(id !== undefined && { id }), code: (error as { readonly code: string }).code };
  }
}

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
});

for (const place of places) {
  const open = (replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}): Bound =>
    boundEndpoint(place, replies, options);

  test.each(ways)(
    `${place}: after a failed turn, the last answered response continues, with %s`,
    async (way) => {
      const failures = [{ error: broken }, { text: 'half', error: broken }];
      const bound = open(['One.', ...failures, 'Two.', 'Three.']);
      const client = bound.client();
      const one = await ask(sessionOf(bound), way, { model: 'offline', input: 'First?' });
      const next = { model: 'offline', input: 'Next?', previous_response_id: one.id! };
      for (let times = 0; times < 2; times += 1)
        expect(await ask(client, way, next)).toMatchObject({ code: 'MODEL_SERVER' });
      const two = await ask(client, way, next);
      expect(two.text).toBe('Two.');
      expect(saidIn(bound.model.requests.at(-1)!.messages)).toEqual(['First?', 'One.', 'Next?']);
      expect((await ask(client, way, next)).code).toBe('SESSION_CONFLICT');
      const three = await ask(client, way, { ...next, previous_response_id: two.id! });
      expect(three.text).toBe('Three.');
      expect((await bound.messages()).length).toBe(6);
    },
  );

  test(`${place}: the response that failed in the middle of its stream continues, too`, async () => {
    const bound = open(['One.', { text: 'half', error: broken }, 'Two.']);
    const client = bound.client();
    const one = await ask(sessionOf(bound), 'stream', { model: 'offline', input: 'First?' });
    const next = { model: 'offline', input: 'Next?', previous_response_id: one.id! };
    const failed = await ask(client, 'stream', next);
    expect(failed).toMatchObject({ id: expect.stringMatching(/^resp_/), code: 'MODEL_SERVER' });
    const more = { model: 'offline', input: 'Go on.', previous_response_id: failed.id! };
    expect((await ask(client, 'create', more)).text).toBe('Two.');
    expect(saidIn(bound.model.requests.at(-1)!.messages)).toEqual([
      'First?',
      'One.',
      'Next?',
      'Go on.',
    ]);
  });

  test(`${place}: a turn that failed after a tool ran does not block the chain`, async () => {
    const bound = open(['One.', { toolCalls: [{ name: 'clock' }] }, { error: broken }, 'Two.'], {
      tools: [clock],
    });
    const client = bound.client();
    const one = await ask(sessionOf(bound), 'create', { model: 'offline', input: 'First?' });
    const next = { model: 'offline', input: 'Next?', previous_response_id: one.id! };
    expect((await ask(client, 'create', next)).code).toBe('MODEL_SERVER');
    expect((await ask(client, 'create', next)).text).toBe('Two.');
    expect(saidIn(bound.model.requests.at(-1)!.messages)).toEqual(['First?', 'One.', 'Next?']);
  });

  test.each(ways)(
    `${place}: the results of a client's tool can be sent again after a failure, with %s`,
    async (way) => {
      const bound = open([
        asksWeather,
        { error: broken },
        { text: 'half', error: broken },
        'It rains.',
        'Yes.',
      ]);
      const client = bound.client();
      const body = { model: 'offline', tools: [weather] };
      const one = await ask(sessionOf(bound), way, { ...body, input: 'Rain?' });
      const next = { ...body, previous_response_id: one.id! };
      expect((await ask(client, way, { ...next, input: rain('?') })).code).toBe('MODEL_SERVER');
      const failed = await ask(client, way, { ...next, input: rain('Sun') });
      expect(failed.code).toBe('MODEL_SERVER');
      // A stream has told the id of the failed response, and both ids work.
      const previous = failed.id ?? one.id!;
      const again = { ...next, previous_response_id: previous, input: rain() };
      const two = await ask(client, way, again);
      expect(two.text).toBe('It rains.');
      const messages = bound.model.requests.at(-1)!.messages;
      expect(saidIn(messages)).toEqual(['Rain?', '', 'Rain']);
      const last = { ...body, previous_response_id: two.id!, input: 'Sure?' };
      expect((await ask(client, way, last)).text).toBe('Yes.');
      // The results of an answered turn are final.
      expect((await ask(client, way, again)).code).toMatch(/INVALID_DECISION|SESSION_CONFLICT/);
    },
  );

  test.each(ways)(
    `${place}: turns that a guard rejected are left out of the chain, with %s`,
    async (way) => {
      const guard = inputGuard('guard', (input) => {
        if (!input.some((message) => textOf(message) === 'bad')) return input;
        throw new AgentError('GUARD_REJECTED', 'No.');
      });
      const bound = open(['One.', 'Two.'], { use: [guard] });
      const client = bound.client();
      let last = await ask(sessionOf(bound), way, { model: 'offline', input: 'First?' });
      for (let times = 0; times < 3; times += 1) {
        const body = { model: 'offline', input: 'bad', previous_response_id: last.id! };
        const rejected = await ask(client, way, body);
        last = { ...last, ...(rejected.id && { id: rejected.id }) };
      }
      const body = { model: 'offline', input: 'Next?', previous_response_id: last.id! };
      expect((await ask(client, way, body)).text).toBe('Two.');
      expect(bound.model.requests.length).toBe(2);
    },
  );

  test(`${place}: instructions hold for one response and are not carried over`, async () => {
    const bound = open(['One.', 'Two.', asksWeather, 'Three.', 'Four.'], {
      systemPrompt: 'You are careful.',
    });
    const client = bound.client();
    const body = { model: 'offline', tools: [weather] };
    const said = (): readonly string[] => saidIn(bound.model.requests.at(-1)!.messages);
    const one = await sessionOf(bound).responses.create({
      ...body,
      instructions: 'Speak French.',
      input: 'First?',
    });
    expect(said()).toEqual(['You are careful.', 'Speak French.', 'First?']);
    const two = await client.responses.create({
      ...body,
      instructions: 'Speak Korean.',
      input: 'Next?',
      previous_response_id: one.id,
    });
    expect(two.instructions).toBe('Speak Korean.');
    const before = ['First?', 'One.', 'Next?', 'Two.', 'Rain?', '', 'Rain'];
    expect(said()).toEqual(['You are careful.', 'Speak Korean.', ...before.slice(0, 3)]);
    const three = await client.responses.create({
      ...body,
      input: 'Rain?',
      previous_response_id: two.id,
    });
    expect(said()).toEqual(['You are careful.', ...before.slice(0, 5)]);
    const four = await client.responses.create({
      ...body,
      instructions: 'Be brief.',
      input: rain(),
      previous_response_id: three.id,
    });
    expect(four.output_text).toBe('Three.');
    expect(said()).toEqual(['You are careful.', 'Be brief.', ...before]);
    const shown = await bound.messages();
    expect(JSON.stringify(shown)).not.toMatch(/Korean|brief/);
  });
}

test('a developer message in a later request reaches the model', async () => {
  for (const systemMessages of ['as-user', 'keep'] as const) {
    const target = testEndpoint(['One.', 'Two.'], {}, { systemMessages }, bindings);
    const { responses } = target.client();
    const one = await responses.create({ model: 'offline', input: 'First?', store: true });
    await target.settled();
    const input: Input = [
      { role: 'developer', content: 'Speak Korean.' },
      { role: 'user', content: 'Next?' },
    ];
    await responses.create({ model: 'offline', input, previous_response_id: one.id });
    const messages = target.model.requests.at(-1)!.messages;
    expect(saidIn(messages)).toEqual(['First?', 'One.', 'Speak Korean.', 'Next?']);
    expect(messages[2]!.role).toBe(systemMessages === 'keep' ? 'system' : 'user');
  }
});

test('instructions pass the guards of the agent', async () => {
  const seen: string[] = [];
  const guard = inputGuard('guard', (input) => {
    seen.push(...input.map(textOf));
    return input.map((message) => ({
      ...message,
      content: [{ type: 'text', text: textOf(message).replace('secret', '***') }] as const,
    }));
  });
  const target = testEndpoint(['ok'], { use: [guard] }, {}, bindings);
  const instructions = 'The secret is 7.';
  const body = { model: 'offline', instructions, input: 'Hi', store: true };
  await target.client().responses.create(body);
  expect(seen).toEqual(['The secret is 7.', 'Hi']);
  expect(saidIn(target.model.requests[0]!.messages)).toEqual(['The *** is 7.', 'Hi']);
});

test("AI SDK's model continues a chain, with instructions and citations", async () => {
  const sources = [{ type: 'url', url: 'https://a.example', title: 'A' }];
  const cites: ScriptedReply = [
    {
      deltas: [
        [{ type: 'text', id: 't', delta: 'Two.', providerMetadata: { sources } }],
        [{ type: 'finish', reason: 'content_filter' }],
      ],
    },
  ];
  const target = testEndpoint(['One.', { error: broken }, cites], {}, {}, bindings);
  const { responses } = createOpenAI({
    baseURL: 'https://edge.test/v1',
    apiKey: 'ann',
    fetch: target.fetch as typeof fetch,
  });
  const model = responses('offline');
  const openai = { store: true };
  const one = await generateText({ model, prompt: 'First?', providerOptions: { openai } });
  await target.settled();
  const { responseId } = one.providerMetadata!['openai'] as { readonly responseId: string };
  const next = {
    model,
    prompt: 'Next?',
    maxRetries: 0,
    providerOptions: {
      openai: { ...openai, previousResponseId: responseId, instructions: 'Be brief.' },
    },
  };
  await expect(generateText(next)).rejects.toMatchObject({ statusCode: 502 });
  const two = await generateText(next);
  expect([two.text, two.finishReason]).toEqual(['Two.', 'content-filter']);
  expect(two.sources).toMatchObject([{ sourceType: 'url', url: 'https://a.example', title: 'A' }]);
  const { messages } = target.model.requests.at(-1)!;
  expect(saidIn(messages)).toEqual(['Be brief.', 'First?', 'One.', 'Next?']);
});

test('the new messages of a request without a session pass the guards', async () => {
  const guard = inputGuard('guard', (input) => {
    if (input.some((message) => textOf(message) === 'bad'))
      throw new AgentError('GUARD_REJECTED', 'No.');
    return input;
  });
  const target = testEndpoint(['ok'], { use: [guard] });
  const post = async (path: string, body: object): Promise<string> =>
    (await target.post(path, { model: 'offline', ...body })).text();
  const input = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Yes?' },
    { role: 'user', content: 'bad' },
  ];
  for (const list of [input, input.slice(2), [...input, { role: 'system', content: 'ok' }]]) {
    expect(await post('/v1/responses', { input: list })).toContain('"content_filter"');
    expect(await post('/v1/chat/completions', { messages: list })).toContain('"content_filter"');
  }
  expect(target.model.requests).toEqual([]);
  expect(await post('/v1/responses', { input: 'good' })).toContain('"completed"');
  expect(saidIn(target.model.requests[0]!.messages)).toEqual(['good']);
});
