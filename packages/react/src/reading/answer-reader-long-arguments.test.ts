import type { UIMessagePart } from '@isoloop/core/stream';
import { afterEach, expect, test, vi } from 'vitest';
import { AnswerReader } from './answer-reader.ts';

/** Arguments of about `length` characters. Each kind grows in another place. */
const kinds: Readonly<Record<string, (length: number) => unknown>> = {
  'a long text': (length) => ({ text: 'one two '.repeat(length / 8) }),
  'a long Chinese text': (length) => ({ text: '你好,世界。😀'.repeat(length / 8) }),
  'a text of escapes': (length) => ({ text: '"\\\n'.repeat(length / 6) }),
  'a long list': (length) => ({ list: Array.from({ length: length / 5 }, () => 1234) }),
  'a list of objects': (length) => ({
    rows: Array.from({ length: length / 20 }, (_, id) => ({ id, isIt: true })),
  }),
  'many fields': (length) =>
    Object.fromEntries(Array.from({ length: length / 10 }, (_, id) => [`f${id}`, id])),
};

afterEach(() => vi.restoreAllMocks());

/** Counts the characters that JSON functions and patterns read, and the values that are copied. */
function workOf(code: () => void): number {
  let characters = 0;
  const { parse, stringify } = JSON;
  vi.spyOn(JSON, 'parse').mockImplementation((text: string, ...rest) => {
    characters += text.length;
    return parse(text, ...rest);
  });
  vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown) => {
    const text = stringify(value);
    characters += text?.length ?? 0;
    return text;
  });
  const { exec } = RegExp.prototype;
  vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, text) {
    const start = this.global || this.sticky ? this.lastIndex : 0;
    const match = Reflect.apply(exec, this, [text]) as RegExpExecArray | null;
    const searched = match ? match.index + match[0].length : text.length;
    if (match || !this.sticky) characters += searched - start;
    return match;
  });
  code();
  vi.restoreAllMocks();
  return characters;
}

/** Returns the part of a call after each piece of its arguments. */
function partsOf(args: string): readonly UIMessagePart[] {
  const reader = new AnswerReader({ id: '', role: 'assistant', parts: [] });
  reader.take({ type: 'tool-input-start', toolCallId: 'a', toolName: 'write' });
  const pieces = args.match(/[^]{1,4}/g) ?? [];
  return pieces.map((inputTextDelta) => {
    reader.take({ type: 'tool-input-delta', toolCallId: 'a', inputTextDelta });
    return reader.message.parts[0]!;
  });
}

/** Returns the number of values that each new input has in its longest list or object. */
function copiesIn(parts: readonly UIMessagePart[]): number {
  const inputs = new Set(parts.map((part) => (part as { readonly input?: object }).input));
  return [...inputs]
    .flatMap((input) => [input, ...Object.values(input ?? {})])
    .reduce((sum, value) => sum + (typeof value === 'object' ? Object.keys(value).length : 0), 0);
}

test.for(Object.entries(kinds))('twice as long arguments cost twice as much: %s', ([, make]) => {
  const work = [4_000, 8_000].map((length) => {
    const args = JSON.stringify(make(length));
    let parts: readonly UIMessagePart[] = [];
    const characters = workOf(() => {
      parts = partsOf(args);
    });
    // The copies reach their share of the characters with long lists only.
    return { characters, copies: copiesIn(parts), length: args.length };
  });
  const [short, long] = work;
  expect(long!.characters / short!.characters).toBeLessThan(2.3);
  expect(long!.copies).toBeLessThan(long!.length * 70);
});

test.for(Object.entries(kinds))('the input of incomplete arguments is current: %s', ([, make]) => {
  const value = make(400);
  const args = JSON.stringify(value);
  const last = partsOf(args).at(-1);
  expect(last).toMatchObject({ state: 'input-streaming', rawInput: args, input: value });
});

test('arguments that began in an earlier part of the answer are read on', () => {
  const reader = new AnswerReader({
    id: 'm',
    role: 'assistant',
    parts: [
      {
        type: 'tool-a',
        toolCallId: 'a',
        state: 'input-streaming',
        rawInput: '{"a":"on',
        input: {},
      },
    ],
  });
  reader.take({ type: 'tool-input-delta', toolCallId: 'a', inputTextDelta: 'e","b":1' });
  expect(reader.message.parts[0]).toMatchObject({ input: { a: 'one', b: 1 } });
});

test('arguments that begin again have nothing of the earlier ones', () => {
  const reader = new AnswerReader({ id: 'm', role: 'assistant', parts: [] });
  for (const inputTextDelta of ['{"a":', '{"b":1}']) {
    reader.take({ type: 'tool-input-start', toolCallId: 'a', toolName: 'a' });
    reader.take({ type: 'tool-input-delta', toolCallId: 'a', inputTextDelta });
  }
  expect(reader.message.parts[0]).toMatchObject({ rawInput: '{"b":1}', input: { b: 1 } });
});
