import { checkOptions } from '../error/options/check-options.ts';
import { boolean, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { Awaitable } from '../event/hook.ts';
import { logMemoryOf, type ExtendedMemory } from '../memory/memory.ts';
import {
  assistantMessage,
  toolMessage,
  userMessage,
  type ContentBlock,
  type Msg,
} from '../message/msg.ts';
import type { TestFramework } from './test-framework.ts';

/** Which tests `memoryConformance()` runs. */
export interface MemoryConformanceOptions {
  /**
   * Whether a memory has all messages that another memory of the same session id flushed. Default:
   * false.
   */
  readonly persistent?: boolean;
}

/**
 * Defines the tests that every `Memory` must pass, with the given functions of vitest. `open` must
 * return a new memory object each time.
 */
export function memoryConformance(
  { describe, expect, test: define }: TestFramework,
  name: string,
  openMemory: (sessionId: string) => Awaitable<ExtendedMemory>,
  options: MemoryConformanceOptions = {},
): void {
  checkOptions('memoryConformance()', options, memoryConformanceOptions);
  const { persistent = false } = options;
  const test = (
    title: string,
    run: (memory: ExtendedMemory, sessionId: string) => Promise<void>,
  ): unknown =>
    define(title, async () => {
      const sessionId = `conformance-${crypto.randomUUID()}`;
      await run(await openMemory(sessionId), sessionId);
    });

  describe(`${name} is a Memory`, () => {
    test('a new session is empty', async (memory) => {
      expect(await memory.read()).toEqual([]);
    });

    test('messages are read in order, with all their fields', async (memory) => {
      const turn = aTurn();
      await memory.append(turn.slice(0, 2));
      await memory.append([]);
      await memory.append(turn.slice(2));
      expect(await memory.read()).toEqual(turn);
    });

    test('a list that was read does not change when messages are appended', async (memory) => {
      await memory.append([userMessage('one', { id: '1' })]);
      const read = await memory.read();
      await memory.append([userMessage('two', { id: '2' })]);
      expect(idsOf(read)).toEqual(['1']);
      expect(idsOf(await memory.read())).toEqual(['1', '2']);
    });

    test('operations take effect in order, even if nobody awaits them', async (memory) => {
      const appends = Array.from({ length: 10 }, (_, n) =>
        memory.append([userMessage(String(n), { id: String(n) })]),
      );
      const deleted = memory.delete(['3', '4']);
      expect(idsOf(await memory.read())).toEqual(['0', '1', '2', '5', '6', '7', '8', '9']);
      await Promise.all([...appends, deleted]);
    });

    test('delete removes the messages and ignores unknown ids', async (memory) => {
      await memory.append(['1', '2', '3'].map((id) => userMessage(id, { id })));
      await memory.delete(['2', 'unknown']);
      await memory.delete([]);
      expect(idsOf(await memory.read())).toEqual(['1', '3']);
      await memory.append([userMessage('again', { id: '2' })]);
      expect(idsOf(await memory.read())).toEqual(['1', '3', '2']);
    });

    test('a cleared session is empty and accepts new messages', async (memory) => {
      await memory.append(aTurn());
      await memory.clear();
      expect(await memory.read()).toEqual([]);
      await memory.append([userMessage('new', { id: 'n' })]);
      expect(idsOf(await memory.read())).toEqual(['n']);
    });

    test('sessions do not share messages', async (memory, sessionId) => {
      const ids = [':', '/2', ' %2F', ':head', '会話 😀'].map((end) => sessionId + end);
      const others = await Promise.all(ids.map((id) => openMemory(id)));
      for (const [n, other] of others.entries())
        await other.append([userMessage('other', { id: String(n) })]);
      expect(await memory.read()).toEqual([]);
      for (const [n, other] of others.entries())
        expect(idsOf(await other.read())).toEqual([String(n)]);
      await others[0]?.clear();
      for (const [n, other] of others.entries())
        expect((await other.read()).length).toBe(n === 0 ? 0 : 1);
    });
  });

  if (!persistent) return;
  describe(`${name} keeps a session after its object`, () => {
    test('a second object reads what the first one flushed', async (memory, sessionId) => {
      const turns = Array.from({ length: 40 }, (_, n) => aTurn(`${n}-`));
      for (const turn of turns) {
        await memory.append(turn);
        await memory.flush?.();
      }
      await memory.delete(['7-question', '39-answer']);
      await memory.flush?.();
      const expected = turns.flat().filter(({ id }) => id !== '7-question' && id !== '39-answer');

      const second = await openMemory(sessionId);
      expect(await second.read()).toEqual(expected);
      expect(await memory.read()).toEqual(expected);
      expect(logMemoryOf(second)?.sessionVersion).toBe(logMemoryOf(memory)?.sessionVersion);
    });

    test('a session that one object cleared is empty for others', async (memory, sessionId) => {
      await memory.append(aTurn());
      await memory.flush?.();
      await memory.clear();
      expect(await (await openMemory(sessionId)).read()).toEqual([]);
    });

    test('an object can clear a session without reading it', async (memory, sessionId) => {
      await memory.append(aTurn());
      await memory.flush?.();
      await (await openMemory(sessionId)).clear();
      expect(await (await openMemory(sessionId)).read()).toEqual([]);
    });

    test('two writers that take turns lose no message', async (memory, sessionId) => {
      const other = await openMemory(sessionId);
      for (let n = 0; n < 5; n++) {
        for (const [writer, prefix] of [[memory, 'a'] as const, [other, 'b'] as const]) {
          await writer.append([userMessage('', { id: prefix + n })]);
          await writer.flush?.();
        }
      }
      const expected = ['a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'a3', 'b3', 'a4', 'b4'];
      expect(idsOf(await (await openMemory(sessionId)).read())).toEqual(expected);
      expect(idsOf(await other.read())).toEqual(expected);
    });
  });
}

const memoryConformanceOptions: OptionTable<MemoryConformanceOptions> = {
  persistent: optional(boolean),
};

/** Returns a question, a tool call, its result and an answer, with every kind of block. */
function aTurn(prefix = ''): readonly Msg[] {
  const image: ContentBlock = {
    type: 'image',
    source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
    name: 'a.png',
  };
  return [
    userMessage([{ type: 'text', text: '東京の天気は？ 😀' }, image], {
      id: `${prefix}question`,
      name: 'Ann',
      metadata: { page: { number: 1 } },
    }),
    assistantMessage(
      [
        {
          type: 'thinking',
          thinking: 'I need the tool.',
          signature: 'abc',
          providerMetadata: { openai: { itemId: 'rs_1' } },
        },
        {
          type: 'tool_use',
          id: `${prefix}call`,
          name: 'weather',
          input: { city: '東京' },
          raw: '{"city": "東京"}',
        },
      ],
      { id: `${prefix}call` },
    ),
    toolMessage(
      {
        type: 'tool_result',
        toolUseId: `${prefix}call`,
        name: 'weather',
        output: [{ type: 'text', text: '18 °C' }, image],
        state: 'success',
      },
      { id: `${prefix}result` },
    ),
    assistantMessage('18 °C', { id: `${prefix}answer` }),
  ];
}

function idsOf(messages: readonly Msg[]): readonly string[] {
  return messages.map((message) => message.id);
}
