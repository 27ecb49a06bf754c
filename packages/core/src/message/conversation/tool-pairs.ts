import { hasToolResults, type ToolUse, type Msg } from '../msg.ts';

/**
 * Applies `order` (`inRequestOrder` or `pairedForModel`) to a conversation whose first messages are
 * settled: they are in order, and their tool calls have results. Looks only at the messages from
 * `settledCount` on, so that a step of a long conversation is fast.
 */
export function orderFrom(
  messages: readonly Msg[],
  settledCount: number,
  order: (messages: readonly Msg[]) => readonly Msg[],
): readonly Msg[] {
  const rest = messages.slice(settledCount);
  const ordered = order(rest);
  return ordered === rest ? messages : [...messages.slice(0, settledCount), ...ordered];
}

/** Returns the tool calls that have no result anywhere in the conversation. */
export function openToolUses(messages: readonly Msg[]): readonly ToolUse[] {
  const openCalls = new Map<string, ToolUse>();
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === 'tool_use') openCalls.set(block.id, block);
      else if (block.type === 'tool_result') openCalls.delete(block.toolUseId);
    }
  }
  return [...openCalls.values()];
}

/**
 * Moves tool results directly after the message with their tool calls, in the order of the tool
 * calls. In a log, results are in the order of their arrival. Keeps all other messages, even
 * results without a tool call. Returns the same array if nothing changes.
 */
export function inRequestOrder(messages: readonly Msg[]): readonly Msg[] {
  const { resultIndexes, pairedIndexes } = pairsIn(messages);
  const order: number[] = [];
  const addWithResults = (index: number): void => {
    order.push(index);
    resultIndexes.get(index)?.forEach(addWithResults);
  };
  for (const index of messages.keys()) if (!pairedIndexes.has(index)) addWithResults(index);
  const isSame = order.every((index, at) => index === at);
  return isSame ? messages : order.map((index) => messages[index]!);
}

/**
 * Returns the messages as a model needs them: in request order, without results that have no tool
 * call, and without repeated results. Returns the same array if nothing changes.
 */
export function pairedForModel(messages: readonly Msg[]): readonly Msg[] {
  const { pairedIndexes } = pairsIn(messages);
  const paired = messages.filter(({ role }, index) => role !== 'tool' || pairedIndexes.has(index));
  return inRequestOrder(paired.length === messages.length ? messages : paired);
}

interface Pairs {
  /**
   * Indexes of the messages with results, in the order of their tool calls. The key is the index of
   * the message with the tool calls.
   */
  readonly resultIndexes: ReadonlyMap<number, readonly number[]>;
  /** Indexes of the messages whose result answers a tool call of an earlier message. */
  readonly pairedIndexes: ReadonlySet<number>;
}

/**
 * Finds the first result after each tool call. A later tool call may have the id of an earlier one.
 */
function pairsIn(messages: readonly Msg[]): Pairs {
  const openCalls = new Map<string, { readonly index: number; readonly slot: number }>();
  const resultIndexes = new Map<number, number[]>();
  const pairedIndexes = new Set<number>();
  for (const [index, { content }] of messages.entries()) {
    for (const [slot, block] of content.entries()) {
      if (block.type === 'tool_use') openCalls.set(block.id, { index, slot });
      if (block.type !== 'tool_result') continue;
      const call = openCalls.get(block.toolUseId);
      openCalls.delete(block.toolUseId);
      if (!call || call.index === index || pairedIndexes.has(index)) continue;
      pairedIndexes.add(index);
      const results = resultIndexes.get(call.index) ?? [];
      results[call.slot] = index;
      resultIndexes.set(call.index, results);
    }
  }
  return { resultIndexes, pairedIndexes };
}

/** Groups consecutive messages with tool results. Every other message is a group of its own. */
export function resultGroups(messages: readonly Msg[]): readonly (readonly Msg[])[] {
  return groupMessages(messages, hasToolResults);
}

/** Groups consecutive messages of a kind. Every other message is a group of its own. */
export function groupMessages<T>(
  messages: readonly T[],
  isOfKind: (message: T) => boolean,
): readonly (readonly T[])[] {
  const groups: T[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last && isOfKind(message) && isOfKind(last[0]!)) last.push(message);
    else groups.push([message]);
  }
  return groups;
}

/**
 * Creates a function that calls `make` once for each group. Later requests then have the same
 * objects, because the wire form and the token count are cached by object.
 */
export function oncePerGroup<T>(make: (group: readonly Msg[]) => T): (group: readonly Msg[]) => T {
  const cache = new WeakMap<Msg, { readonly group: readonly Msg[]; readonly result: T }>();
  return (group) => {
    const cached = cache.get(group[0]!);
    const isSame =
      cached?.group.length === group.length &&
      group.every((message, index) => message === cached.group[index]);
    if (isSame) return cached.result;
    const result = make(group);
    cache.set(group[0]!, { group, result });
    return result;
  };
}
