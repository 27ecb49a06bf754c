import { expect } from 'vitest';
import {
  AgentError,
  assistantMessage,
  systemMessage,
  toolMessage,
  userMessage,
  type Msg,
  type ChatModel,
  type ModelDelta,
  type ModelRequest,
} from '@isoloop/core';
import type { Formatter } from '../../packages/core/src/model/formatter/formatter.ts';

/** What a model replied, with its deltas joined. */
export interface ModelOutcome {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
  readonly finish?: ModelDelta & { readonly type: 'finish' };
  readonly error?: AgentError;
}

/** Asks a model, and returns a reader of its reply. */
export function readerOf(
  model: ChatModel,
  request: Partial<ModelRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): AsyncIterator<readonly ModelDelta[]> {
  const whole = { messages: [userMessage('Hi')], tools: [], ...request };
  return model.stream(whole, { signal })[Symbol.asyncIterator]();
}

/** Asks a model, and reads its reply to the end. Each error must be an `AgentError`. */
export async function outcomeOf(
  model: ChatModel,
  request?: Partial<ModelRequest>,
): Promise<ModelOutcome> {
  const deltas: ModelDelta[] = [];
  const batches = { [Symbol.asyncIterator]: () => readerOf(model, request) };
  try {
    for await (const batch of batches) deltas.push(...batch);
    return joined(deltas);
  } catch (error) {
    expect(AgentError.is(error)).toBe(true);
    return { ...joined(deltas), error: error as AgentError };
  }
}

/** Joins the deltas of one reply. */
export function joined(deltas: readonly ModelDelta[]): ModelOutcome {
  const textOf = (type: 'text' | 'thinking'): string =>
    deltas.map((delta) => (delta.type === type ? delta.delta : '')).join('');
  const calls: { id: string; name: string; input: string }[] = [];
  for (const delta of deltas) {
    if (delta.type !== 'tool-input') continue;
    const call = (calls[delta.index] ??= { id: '', name: '', input: '' });
    call.id += delta.id ?? '';
    call.name += delta.name ?? '';
    call.input += delta.delta;
  }
  const finish = deltas.find((delta) => delta.type === 'finish');
  return { text: textOf('text'), thinking: textOf('thinking'), calls, ...(finish && { finish }) };
}

/** Returns an outcome in the form of the golden replies. */
export function goldenForm({ finish, ...reply }: ModelOutcome): Readonly<Record<string, unknown>> {
  return {
    ...reply,
    ...(finish && { reason: finish.reason }),
    ...(finish?.usage && { usage: finish.usage }),
    ...(finish && { model: finish.metadata?.['model'] }),
  };
}

/** A conversation of a person with two agents, for `multiAgent()`. */
export const talkOfSeveral: readonly Msg[] = [
  systemMessage('You are Cal.'),
  userMessage('Warm?', { name: 'Ann' }),
  assistantMessage([{ type: 'tool_use', id: 'c1', name: 'weather', input: { city: '東京' } }]),
  toolMessage({
    type: 'tool_result',
    toolUseId: 'c1',
    name: 'weather',
    output: 'sun',
    state: 'success',
  }),
  assistantMessage('Sun in 東京.', { name: 'Bob' }),
];

/** Returns how often later requests read the content of a message that an earlier one had. */
export function readsInLaterRequests({ format }: Formatter): number {
  let reads = 0;
  const { content, ...message } = userMessage('x');
  const counted: Msg = {
    ...message,
    get content() {
      reads++;
      return content;
    },
  };
  const formatted = (): string => format({ messages: [counted, counted], tools: [] });
  const first = formatted();
  expect(reads).toBeGreaterThan(0);
  reads = 0;
  expect([formatted(), formatted()]).toEqual([first, first]);
  return reads;
}
