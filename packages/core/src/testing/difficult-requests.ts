import { parseJson, type JsonObject } from '../message/json.ts';
import type { ContentBlock, Msg, ToolUse } from '../message/msg.ts';
import type { ModelRequest, ToolSchema } from '../model/chat-model.ts';

const clock: ToolSchema = {
  name: 'clock',
  description: 'Tells the time',
  parameters: { type: 'object', properties: {} },
};

/** Half of an emoji. A text that was cut by its length may end with it. */
const half = '😀'.slice(0, 1);

/**
 * Requests whose history or tools do not fit most servers as they are. A stored session may have
 * each of them: a model made an odd reply, a tool cut a text, or another provider wrote the reply.
 */
export const difficultRequests: Readonly<Record<string, ModelRequest>> = {
  ...requestsFor('the arguments', ['"Rome"', '5', '["Rome"]', 'null', '{"city": '], (raw) =>
    requestWith({ input: parseJson(raw) ?? null, raw }),
  ),
  ...requestsFor(
    'the tool name',
    ['$READFILE', '', 'n'.repeat(80), '天气', 'w<|channel|>x'],
    (name) => requestWith({ name }),
  ),
  ...requestsFor(
    'the call id',
    ['functions.w:0', 'i'.repeat(65), 'call_0123456789abcdef', ''],
    (id) => requestWith({ id }),
  ),
  'two calls whose ids differ at their ends': requestOf(
    ...roundOf(callOf({ id: `${'i'.repeat(64)}a` }), callOf({ id: `${'i'.repeat(64)}b` })),
  ),
  'a reply of thinking alone': requestOf(
    message('assistant', { type: 'thinking', thinking: 'Let me think.' }),
    message('user', { type: 'text', text: 'Go on.' }),
  ),
  'an empty reply': requestOf(
    message('assistant', { type: 'text', text: '' }),
    message('user', { type: 'text', text: 'Go on.' }),
  ),
  'half an emoji in a question': requestOf(message('user', { type: 'text', text: `Yes ${half}` })),
  'half an emoji in a reply': requestOf(
    message('assistant', { type: 'text', text: `Yes ${half}` }),
    message('user', { type: 'text', text: 'Go on.' }),
  ),
  'half an emoji in arguments': requestWith({ input: { city: half } }),
  'half an emoji in a result': requestOf(...roundOf(callOf({}), half)),
  ...requestsFor(
    'a tool whose schema is',
    [
      '{}',
      '{"type":"object"}',
      '{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}',
      '{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{}}}}',
    ],
    (json) => ({ ...requestOf(), tools: [toolOf(json)] }),
  ),
  ...requestsFor(
    'a strict tool whose schema is',
    [
      '{"type":"object","properties":{"a":{"type":"string","format":"uri"}},"required":["a"],"additionalProperties":false}',
      '{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"number"}]}},"required":["a"],"additionalProperties":false}',
    ],
    (json) => ({ ...requestOf(), tools: [{ ...toolOf(json), strict: true }] }),
  ),
};

/** Returns a request for each value, under a name that shows the value. */
function requestsFor(
  what: string,
  values: readonly string[],
  requestFor: (value: string) => ModelRequest,
): Readonly<Record<string, ModelRequest>> {
  return Object.fromEntries(
    values.map((value) => [`${what} ${value.slice(0, 40) || '(empty)'}`, requestFor(value)]),
  );
}

function toolOf(json: string): ToolSchema {
  return { ...clock, parameters: JSON.parse(json) as JsonObject };
}

function requestOf(...messages: readonly Msg[]): ModelRequest {
  const question = message('user', { type: 'text', text: 'What time is it?' });
  return { messages: [question, ...messages], tools: [clock] };
}

function requestWith(fields: Partial<ToolUse>): ModelRequest {
  return requestOf(...roundOf(callOf(fields)));
}

function callOf(fields: Partial<ToolUse>): ToolUse {
  return { type: 'tool_use', id: 'call_0', name: 'clock', input: {}, ...fields };
}

/** Returns a reply with tool calls, and the message with their results. */
function roundOf(...parts: readonly (ToolUse | string)[]): readonly Msg[] {
  const uses = parts.filter((part) => typeof part !== 'string');
  const output = parts.find((part) => typeof part === 'string') ?? '12:00';
  return [
    message('assistant', ...uses),
    message(
      'tool',
      ...uses.map(({ id, name }): ContentBlock => {
        return { type: 'tool_result', toolUseId: id, name, output, state: 'success' };
      }),
    ),
  ];
}

function message(role: Msg['role'], ...content: readonly ContentBlock[]): Msg {
  return { id: `message of the ${role}`, role, content, createdAt: '2026-01-01T00:00:00.000Z' };
}
