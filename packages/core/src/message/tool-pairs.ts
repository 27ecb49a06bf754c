import type { ToolUse } from './content-block.ts';
import type { Msg } from './msg.ts';

/** Returns the tool calls without a result anywhere in the conversation. */
export function openCalls(messages: readonly Msg[]): readonly ToolUse[] {
  const open = new Map<string, ToolUse>();
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === 'tool_use') open.set(block.id, block);
      else if (block.type === 'tool_result') open.delete(block.toolUseId);
    }
  }
  return [...open.values()];
}

/**
 * Moves tool results right behind the message with their calls, in the order of the calls. A log
 * holds results in the order of their arrival. Keeps everything else, even results without a call.
 * Returns the same array if nothing changes.
 */
export function inRequestOrder(messages: readonly Msg[]): readonly Msg[] {
  const { resultsOf, answers } = pairsIn(messages);
  const order: number[] = [];
  const place = (index: number): void => {
    order.push(index);
    resultsOf.get(index)?.forEach(place);
  };
  for (const index of messages.keys()) if (!answers.has(index)) place(index);
  const isSame = order.every((index, at) => index === at);
  return isSame ? messages : order.map((index) => messages[index]!);
}

/**
 * Returns the messages in request order, without results that have no call and without repeated
 * results, as a model needs them. Returns the same array if nothing changes.
 */
export function forModel(messages: readonly Msg[]): readonly Msg[] {
  const { answers } = pairsIn(messages);
  const paired = messages.filter(({ role }, index) => role !== 'tool' || answers.has(index));
  return inRequestOrder(paired.length === messages.length ? messages : paired);
}

interface Pairs {
  /** Indexes of the messages with results, in the order of the calls, by their calls' message. */
  readonly resultsOf: ReadonlyMap<number, readonly number[]>;
  /** Indexes of the messages whose result answers a call of an earlier message. */
  readonly answers: ReadonlySet<number>;
}

/** Finds the first result behind each call. Later calls may repeat an id. */
function pairsIn(messages: readonly Msg[]): Pairs {
  const open = new Map<string, { readonly index: number; readonly slot: number }>();
  const resultsOf = new Map<number, number[]>();
  const answers = new Set<number>();
  for (const [index, { content }] of messages.entries()) {
    for (const [slot, block] of content.entries()) {
      if (block.type === 'tool_use') open.set(block.id, { index, slot });
      if (block.type !== 'tool_result') continue;
      const call = open.get(block.toolUseId);
      open.delete(block.toolUseId);
      if (!call || call.index === index || answers.has(index)) continue;
      answers.add(index);
      const results = resultsOf.get(call.index) ?? [];
      results[call.slot] = index;
      resultsOf.set(call.index, results);
    }
  }
  return { resultsOf, answers };
}
