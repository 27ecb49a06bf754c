import { expect, test } from 'vitest';
import { openai } from '../openai/openai.ts';
import { openaiResponses } from '../responses/openai-responses.ts';
import { dashscope } from '../dashscope/dashscope.ts';
import { fromAiSdk } from '../ai-sdk/ai-sdk-model.ts';
import {
  assistantMessage,
  systemMessage,
  toolMessage,
  userMessage,
  type ContentBlock,
  type Msg,
  type ToolUse,
} from '../../message/msg.ts';
import type { JsonValue } from '../../message/json.ts';
import type { ChatModel, ModelRequest } from '../chat-model.ts';
import type { Fetch } from '../http/http-model.ts';

interface SentCall {
  readonly id: unknown;
  readonly name: unknown;
  /** JSON text, or the value itself if the wire has values. */
  readonly arguments: unknown;
}

type Body = Readonly<Record<string, unknown>>;

interface Wire {
  readonly name: string;
  /** Creates a model and hands each body that it sends to `take`. */
  readonly model: (take: (body: string) => void) => ChatModel;
  /** Returns the messages or items of a body. */
  readonly messagesOf: (body: Body) => readonly Body[];
  readonly callOf: (messages: readonly Body[]) => SentCall;
  readonly resultIdOf: (messages: readonly Body[]) => unknown;
}

const taking =
  (take: (body: string) => void): Fetch =>
  async (_url, { body }) => {
    take(body as string);
    return new Response('{}', { status: 400 });
  };

const listOf = (body: Body, key: string): readonly Body[] => body[key] as readonly Body[];
const first = (list: readonly Body[], key: string, value: string): Body =>
  list.find((item) => item[key] === value)!;

const chat = {
  callOf: (messages) => {
    const [call] = listOf(first(messages, 'role', 'assistant'), 'tool_calls');
    const called = call!['function'] as Body;
    return { id: call!['id'], name: called['name'], arguments: called['arguments'] };
  },
  resultIdOf: (messages) => first(messages, 'role', 'tool')['tool_call_id'],
} satisfies Partial<Wire>;

const wires: readonly Wire[] = [
  {
    ...chat,
    name: 'openai',
    model: (take) => openai({ model: 'm', fetch: taking(take) }),
    messagesOf: (body) => listOf(body, 'messages'),
  },
  {
    name: 'openaiResponses',
    model: (take) => openaiResponses({ model: 'm', fetch: taking(take) }),
    messagesOf: (body) => listOf(body, 'input'),
    callOf: (items) => {
      const item = first(items, 'type', 'function_call');
      return { id: item['call_id'], name: item['name'], arguments: item['arguments'] };
    },
    resultIdOf: (items) => first(items, 'type', 'function_call_output')['call_id'],
  },
  {
    ...chat,
    name: 'dashscope',
    model: (take) => dashscope({ model: 'm', apiKey: 'k', fetch: taking(take) }),
    messagesOf: ({ input }) => listOf(input as Body, 'messages'),
  },
  {
    name: 'fromAiSdk',
    model: (take) =>
      fromAiSdk({
        specificationVersion: 'v4',
        provider: 'any',
        modelId: 'm',
        supportedUrls: {},
        doStream: async (options: object) => {
          take(JSON.stringify(options));
          throw new Error('enough');
        },
      } as never),
    messagesOf: (body) => listOf(body, 'prompt'),
    callOf: (messages) => {
      const parts = listOf(first(messages, 'role', 'assistant'), 'content');
      const part = first(parts, 'type', 'tool-call');
      return { id: part['toolCallId'], name: part['toolName'], arguments: part['input'] };
    },
    resultIdOf: (messages) => {
      const parts = listOf(first(messages, 'role', 'tool'), 'content');
      return first(parts, 'type', 'tool-result')['toolCallId'];
    },
  },
];

/** Returns the JSON text that a model sends for these messages. */
async function textFor(
  { model }: Wire,
  messages: readonly Msg[],
  settings: Partial<ModelRequest> = {},
): Promise<string> {
  const sentTexts: string[] = [];
  const sender = model((text) => void sentTexts.push(text));
  const copy = structuredClone(messages);
  const read = async (): Promise<void> => {
    const request = { messages, tools: [], ...settings };
    for await (const _ of sender.stream(request, { signal: new AbortController().signal }));
  };
  await expect(read()).rejects.toThrow();
  expect(messages).toEqual(copy);
  expect(sentTexts.length).toBe(1);
  return sentTexts[0]!;
}

const sentFor = async (wire: Wire, messages: readonly Msg[]): Promise<readonly Body[]> =>
  wire.messagesOf(JSON.parse(await textFor(wire, messages)));

const withCall = (use: Omit<ToolUse, 'type'>): readonly Msg[] => {
  const { id, name } = use;
  const output = `Tool not found: ${name}`;
  return [
    userMessage('Hi'),
    assistantMessage([{ type: 'tool_use', ...use }]),
    toolMessage({ type: 'tool_result', toolUseId: id, name, output, state: 'error' }),
  ];
};

const parsed = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value);

for (const wire of wires) {
  const { name: wireName, callOf, resultIdOf } = wire;

  test.each<[input: JsonValue, raw: string | undefined]>([
    ['Rome', '"Rome"'],
    ['Rome', undefined],
    [5, undefined],
    [['Rome'], undefined],
    [['Rome'], '[ "Rome" ]'],
    [null, '{"city": '],
    [null, undefined],
    [true, ' true '],
  ])(`${wireName} sends {} for the arguments %j (%s)`, async (input, raw) => {
    const use = { id: 'c1', name: 'weather', input, ...(raw !== undefined && { raw }) };
    const call = callOf(await sentFor(wire, withCall(use)));
    expect(parsed(call.arguments)).toEqual({});
  });

  test.each([
    ['$READFILE', 'tool__READFILE'],
    ['', 'unnamed'],
    ['a'.repeat(80), 'a'.repeat(64)],
    ['w<|channel|>x', 'w_channel_x'],
    ['天气', 'tool__'],
    ['7zip 天气', 'tool_7zip_'],
    ['get.weather v2', 'get_weather_v2'],
    ['get-weather_2', 'get-weather_2'],
  ])(`${wireName} sends the invented tool name "%s" as "%s"`, async (name, sentName) => {
    const sentMessages = await sentFor(wire, withCall({ id: 'c1', name, input: {} }));
    expect(callOf(sentMessages).name).toBe(sentName);
    expect([callOf(sentMessages).id, resultIdOf(sentMessages)]).toEqual(['c1', 'c1']);
  });

  test.each<[what: string, content: readonly ContentBlock[]]>([
    ['thinking alone', [{ type: 'thinking', thinking: 'Hm.' }]],
    ['thinking and an empty text', [thinkingBlock(), { type: 'text', text: '' }]],
    ['blank texts', [{ type: 'text', text: '\n\n' }]],
    ['no blocks', []],
  ])(`${wireName} leaves out a reply of %s`, async (_what, content) => {
    const messages = [userMessage('Hi'), assistantMessage(content), userMessage('Go on')];
    const sentMessages = await sentFor(wire, messages);
    expect(sentMessages.map(({ role }) => role)).toEqual(['user', 'user']);
  });

  test(`${wireName} sends no empty text`, async () => {
    const call = { id: 'c1', name: 'weather', input: {} };
    const messages = [
      systemMessage(''),
      userMessage(''),
      userMessage([{ type: 'text', text: '' }]),
      assistantMessage([
        { type: 'text', text: ' ' },
        { type: 'tool_use', ...call },
      ]),
      toolMessage({
        type: 'tool_result',
        toolUseId: 'c1',
        name: 'weather',
        output: '',
        state: 'error',
      }),
    ];
    const sentMessages = await sentFor(wire, messages);
    // DashScope documents an empty content beside tool calls.
    const texts = sentMessages.map((sent) =>
      JSON.stringify(sent, (key, value: unknown) =>
        key === 'content' && wireName === 'dashscope' && sent['tool_calls'] ? undefined : value,
      ),
    );
    const text = texts.join('\n');
    expect(text.match(/"(content|text|output|value)":(" *"|\[\])/g)).toBe(null);
    expect(text.split('(empty message)').length).toBe(3);
    expect(text).toContain('(no output)');
    expect(text).not.toContain('"system"');
  });

  test(`${wireName} sends no half surrogate pair, from whoever it comes`, async () => {
    const half = '\ud83c';
    const output = `${half}`;
    const messages = [
      systemMessage(half),
      userMessage(`a${half}`),
      assistantMessage([
        { type: 'text', text: `${half}b 🌍` },
        { type: 'tool_use', id: 'c1', name: 'w', input: { [half]: [half] } },
        { type: 'tool_use', id: 'c2', name: 'w', input: { q: half }, raw: '{ "q": "\\uD83C" }' },
        { type: 'tool_use', id: 'c3', name: 'w', input: { q: '\\ud83c' } },
      ]),
      ...['c1', 'c2', 'c3'].map((toolUseId) =>
        toolMessage({ type: 'tool_result', toolUseId, name: 'w', output, state: 'success' }),
      ),
    ];
    const text = await textFor(wire, messages);
    const values = [text, ...stringsIn(JSON.parse(text)).flatMap(decoded)];
    for (const value of values) expect(value).not.toMatch(/\p{Cs}/u);
    expect(text).toContain('🌍');
    // An escaped backslash is no surrogate.
    expect(values).toContain('\\ud83c');
  });
}

test('fromAiSdk sends no half surrogate pair of a setting', async () => {
  const settings = { stop: ['\ud83c'], providerOptions: { openai: { user: 'a\ud83c' } } };
  const text = await textFor(wires.at(-1)!, [userMessage('Hi')], settings);
  for (const value of stringsIn(JSON.parse(text))) expect(value).not.toMatch(/\p{Cs}/u);
});

function thinkingBlock(): ContentBlock {
  return { type: 'thinking', thinking: 'Hm.', signature: 's' };
}

/** Returns all texts in a value, with the names of fields. */
function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Object.entries(Object(value)).flatMap(([key, item]) => [key, ...stringsIn(item)]);
}

/** Returns a text, and the texts in its JSON: some servers parse arguments. */
function decoded(text: string): readonly string[] {
  return text.startsWith('{') ? [text, ...stringsIn(JSON.parse(text))] : [text];
}

test('arguments that fit are sent as the model wrote them', async () => {
  const raw = '{ "city" : "\\u6771\\ud83c\\udf0d" }';
  const messages = withCall({ id: 'c1', name: 'w', input: { city: '東🌍' }, raw });
  const call = wires[0]!.callOf(await sentFor(wires[0]!, messages));
  expect(call.arguments).toBe(raw);
});
