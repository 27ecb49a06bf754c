import { randomOf } from '../../../test/random-of.ts';
import type { UiChunk } from '@isoloop/core/stream';
import type { UIMessageChunk } from 'ai';

/** All types of chunks that an agent sends. A new one fails the type check. */
export const chunkTypes = Object.keys({
  start: true,
  finish: true,
  abort: true,
  error: true,
  'message-metadata': true,
  'start-step': true,
  'finish-step': true,
  'reset-step': true,
  'text-start': true,
  'text-delta': true,
  'text-end': true,
  'reasoning-start': true,
  'reasoning-delta': true,
  'reasoning-end': true,
  file: true,
  'source-url': true,
  'source-document': true,
  'tool-input-start': true,
  'tool-input-delta': true,
  'tool-input-available': true,
  'tool-approval-request': true,
  'tool-approval-response': true,
  'tool-output-available': true,
  'tool-output-error': true,
  'tool-output-denied': true,
  'data-x': true,
} satisfies Record<Exclude<UiChunk['type'], `data-${string}`> | 'data-x', true>);

interface Text {
  readonly kind: 'text' | 'reasoning';
  readonly id: string;
}

interface Call {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly dynamic?: boolean;
  /** Input that has not been sent. Absent if the input is complete. */
  rest?: string;
  isAsked?: boolean;
}

/**
 * Returns the chunks of a random answer. They are in an order that the protocol allows.
 */
export function randomAnswer(seed: number): readonly UIMessageChunk[] {
  const random = randomOf(seed);
  const below = (count: number): number => Math.floor(random() * count);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const maybe = <T extends object>(fields: T): Partial<T> => (below(2) ? fields : {});
  const chunks: UIMessageChunk[] = [];
  let texts: Text[] = [];
  let calls: Call[] = [];
  let drafts: Call[] = [];
  let lastId = 0;
  const newId = (): string => `i${(lastId += 1)}`;
  const word = (): string => pick(['one ', 'two\n', '🙂', '"', '{', 'é', '']);
  const value = (): object =>
    pick([{ a: 1 }, { text: 'one\n"two"', list: [1, null, { deep: true }] }, [1.5, 'x'], {}]);
  const metadata = (): object =>
    pick([{ usage: { input: below(9) } }, { usage: { list: [1] } }, { other: null, a: 'b' }]);
  const about = (): object => ({
    ...maybe({ providerExecuted: true }),
    ...maybe({ toolMetadata: { n: below(9) } }),
  });
  const push = (chunk: object): void => void chunks.push(chunk as UIMessageChunk);
  const begin = (kind: Text['kind']): void => {
    const id = newId();
    texts.push({ kind, id });
    push({ type: `${kind}-start`, id });
  };
  const end = (): void => {
    const text = texts.splice(below(texts.length), 1)[0];
    if (!text) return;
    push({ type: `${text.kind}-end`, id: text.id });
  };
  const draft = (): void => {
    const call: Call = {
      toolCallId: newId(),
      toolName: pick(['find', 'look-up']),
      ...maybe({ dynamic: true }),
      rest: JSON.stringify(value(), null, below(2) * 2),
    };
    drafts.push(call);
    const { rest: _rest, ...sent } = call;
    push({ type: 'tool-input-start', ...sent, ...about() });
  };
  const grow = (): void => {
    const call = pick([...drafts, undefined]);
    if (!call?.rest) return;
    const size = 1 + below(6);
    push({
      type: 'tool-input-delta',
      toolCallId: call.toolCallId,
      inputTextDelta: call.rest.slice(0, size),
    });
    call.rest = call.rest.slice(size);
  };
  const complete = (): void => {
    const known = drafts.splice(below(drafts.length), 1)[0];
    const call = known ?? { toolCallId: newId(), toolName: 'find', ...maybe({ dynamic: true }) };
    const { toolCallId, toolName, dynamic } = call;
    const common = { toolCallId, toolName, ...(dynamic && { dynamic }), ...about() };
    calls.push(call);
    push({ type: 'tool-input-available', ...common, input: value() });
  };
  const result = (): void => {
    const { toolCallId, isAsked } = pick(calls) ?? {};
    if (!toolCallId) return;
    const kinds = ['available', 'error', 'preliminary', ...(isAsked ? ['denied'] : [])];
    const kind = pick(kinds);
    if (kind === 'denied') return push({ type: 'tool-output-denied', toolCallId });
    const common = { toolCallId, ...about() };
    if (kind === 'error') return push({ type: 'tool-output-error', ...common, errorText: word() });
    const preliminary = kind === 'preliminary' && { preliminary: true };
    push({ type: 'tool-output-available', ...common, output: value(), ...preliminary });
  };
  const ask = (): void => {
    const call = pick(calls);
    if (!call) return;
    call.isAsked = true;
    push({
      type: 'tool-approval-request',
      approvalId: `of ${call.toolCallId}`,
      toolCallId: call.toolCallId,
      ...maybe({ reason: word() }),
    });
  };
  const respond = (): void => {
    const call = calls.find(({ isAsked }) => isAsked);
    if (!call) return;
    push({
      type: 'tool-approval-response',
      approvalId: `of ${call.toolCallId}`,
      approved: pick([true, false]),
      ...maybe({ reason: word() }),
    });
  };
  const data = (): void => {
    push({
      type: pick(['data-x', 'data-y']),
      ...maybe({ id: pick(['1', '2']) }),
      ...maybe({ transient: pick([true, false]) }),
      data: value(),
    });
  };
  const others: readonly (() => void)[] = [
    () => begin('text'),
    () => begin('reasoning'),
    end,
    draft,
    grow,
    grow,
    complete,
    complete,
    result,
    result,
    ask,
    respond,
    data,
    () => push({ type: 'file', mediaType: 'image/png', url: 'data:,' }),
    () =>
      push({
        type: 'source-url',
        sourceId: newId(),
        url: 'https://host/',
        ...maybe({ title: 'T' }),
      }),
    () =>
      push({
        type: 'source-document',
        sourceId: newId(),
        mediaType: 'text/plain',
        title: 'T',
        ...maybe({ filename: 'a.txt' }),
      }),
    () => push({ type: 'message-metadata', messageMetadata: metadata() }),
  ];
  const grown = (): void => {
    const text = pick([...texts, undefined]);
    if (text) push({ type: `${text.kind}-delta`, id: text.id, delta: word() });
  };
  push({ type: 'start', messageId: newId(), ...maybe({ messageMetadata: metadata() }) });
  for (let step = 0; step < 4; step += 1) {
    push({ type: 'start-step' });
    const isReset = below(4) === 0;
    const open = { texts, calls };
    for (let index = 0; index < 30; index += 1) pick([grown, pick(others)])();
    if (isReset) {
      push({ type: 'reset-step' });
      ({ texts, calls } = { texts: [], calls: open.calls.filter((call) => isOld(call)) });
    } else while (texts.length) end();
    drafts = [];
    push({ type: 'finish-step' });
    if (below(5) === 0) push({ type: 'start', ...maybe({ messageMetadata: metadata() }) });
  }
  push(
    pick([
      { type: 'abort', ...maybe({ reason: 'stopped' }) },
      { type: 'error', errorText: 'It failed.' },
      { type: 'finish', ...maybe({ finishReason: 'stop', messageMetadata: metadata() }) },
    ]),
  );
  return chunks;

  /** Whether a call was there before the last step. */
  function isOld({ toolCallId }: Call): boolean {
    const start = chunks.findLastIndex(({ type }) => type === 'start-step');
    return !chunks
      .slice(start)
      .some((chunk) => 'toolName' in chunk && chunk.toolCallId === toolCallId);
  }
}
