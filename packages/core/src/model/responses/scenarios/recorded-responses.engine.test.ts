import { expect, test } from 'vitest';
import type { AgentError } from '../../../error/agent-error.ts';
import { isObjectOrArray } from '../../../message/json.ts';
import { joinDeltas } from '../../reply/deltas.ts';
import type { ModelDelta } from '../../chat-model.ts';
import { EventReply } from '../../http/event-reply.ts';
import { ResponsesDecoder } from '../responses-decoder.ts';

const fixtures = import.meta.glob<string>(
  '../../../../../../test/fixtures/responses-streams/*.{json,sse}',
  { query: '?raw', import: 'default', eager: true },
);

interface Golden {
  readonly text: string;
  readonly thinking: readonly string[];
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: string;
  }[];
  readonly otherItems: readonly string[];
  readonly error: boolean;
  readonly usage: { readonly input_tokens?: number; readonly output_tokens?: number };
}

interface Outcome {
  readonly deltas: readonly ModelDelta[];
  readonly error: AgentError | undefined;
}

const names = Object.keys(fixtures)
  .filter((path) => path.endsWith('.sse'))
  .map((path) => path.replace(/^.*\/|\.sse$/g, ''))
  .sort();

const fixture = (file: string): string =>
  Object.entries(fixtures).find(([path]) => path.endsWith(`/${file}`))![1];

const bytesOf = (name: string): Uint8Array => new TextEncoder().encode(fixture(`${name}.sse`));

const goldenOf = (name: string): Golden => JSON.parse(fixture(`${name}.json`)) as Golden;

function replay(bytes: Uint8Array, size: number): Outcome {
  const reply = new EventReply(new ResponsesDecoder('host'));
  const deltas: ModelDelta[] = [];
  for (let start = 0; start < bytes.length && !reply.error; start += size)
    deltas.push(...reply.push(bytes.subarray(start, start + size)));
  deltas.push(...reply.end({ url: 'https://host/v1' }));
  const start = deltas.findLastIndex(({ type }) => type === 'reset') + 1;
  return { deltas: joinDeltas(deltas.slice(start)), error: reply.error };
}

const textOf = (deltas: readonly ModelDelta[]): string =>
  deltas.map((delta) => (delta.type === 'text' ? delta.delta : '')).join('');

/** Returns the thinking of each block that contains thinking. */
function thinkingOf(deltas: readonly ModelDelta[]): readonly string[] {
  const blocks = new Map<string, string>();
  for (const delta of deltas)
    if (delta.type === 'thinking') blocks.set(delta.id, (blocks.get(delta.id) ?? '') + delta.delta);
  return [...blocks.values()].filter(Boolean);
}

function callsOf(deltas: readonly ModelDelta[]): Golden['calls'] {
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const delta of deltas) {
    if (delta.type !== 'tool-input') continue;
    calls[delta.index] ??= { id: delta.id!, name: delta.name!, arguments: '' };
    calls[delta.index]!.arguments += delta.delta;
  }
  return calls;
}

/** Returns the types of the items that are neither messages, reasoning nor function calls. */
function otherItemsOf(deltas: readonly ModelDelta[]): readonly string[] {
  const types = deltas.flatMap((delta) => {
    const kept = delta.type === 'thinking' && delta.providerMetadata?.['responses'];
    const item = isObjectOrArray(kept) ? kept['item'] : undefined;
    return isObjectOrArray(item) && item['type'] !== 'reasoning' ? [String(item['type'])] : [];
  });
  return [...new Set(types)].sort();
}

test('all recorded streams exist', () => {
  expect(names).toHaveLength(21);
});

test.each(names)(
  'the recorded stream %s gives the expected text, summaries, tool calls and items',
  (name) => {
    const golden = goldenOf(name);
    const { deltas, error } = replay(bytesOf(name), Infinity);
    expect(error !== undefined).toBe(golden.error);
    expect(textOf(deltas)).toBe(golden.text);
    expect(callsOf(deltas)).toEqual(golden.calls);
    expect(otherItemsOf(deltas)).toEqual(golden.otherItems);
    // An open model sends its whole reasoning and no summary.
    if (!name.includes('lmstudio')) expect(thinkingOf(deltas)).toEqual(golden.thinking);
    if (golden.error) return;
    const finish = deltas.at(-1)!;
    expect(finish).toMatchObject({
      type: 'finish',
      reason: golden.calls.length ? 'tool_calls' : 'stop',
      usage: {
        inputTokens: golden.usage.input_tokens,
        outputTokens: golden.usage.output_tokens,
      },
    });
    expect(finish).not.toHaveProperty('metadata.unknownEvents');
  },
);

test.each(names)('the recorded stream %s gives the same deltas byte by byte', (name) => {
  const bytes = bytesOf(name);
  const whole = replay(bytes, Infinity);
  const cut = replay(bytes, 1);
  expect(cut.deltas).toEqual(whole.deltas);
  expect(cut.error?.code).toBe(whole.error?.code);
});

test('an error about a used-up quota cannot be retried', () => {
  const { error } = replay(bytesOf('openai-openai-error-1'), Infinity);
  expect(error).toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    retryable: false,
    details: { providerCode: 'insufficient_quota' },
  });
});

test.each(names.filter((name) => !goldenOf(name).error))(
  'the recorded stream %s without its last event is an incomplete reply',
  (name) => {
    const text = fixture(`${name}.sse`);
    const cut = text.slice(0, text.lastIndexOf('event: response.completed'));
    const { error } = replay(new TextEncoder().encode(cut), Infinity);
    expect(error).toMatchObject({ code: 'MODEL_BAD_RESPONSE', retryable: true });
  },
);

test.each(['<html>Welcome</html>', 'Not found', '{"hello":1}'])(
  'a reply that is no event stream cannot be asked again: %s',
  (text) => {
    const { error } = replay(new TextEncoder().encode(text), Infinity);
    expect(error).toMatchObject({ code: 'MODEL_BAD_RESPONSE', retryable: false });
  },
);
