import { toolResultsOf, toolUsesOf, type Msg } from '@isoloop/core';

/**
 * Returns the faults of a message history. Each id must be unique. Each tool call must have exactly
 * one result. The tool calls in `open` must have no result.
 */
export function historyFaults(
  messages: readonly Msg[],
  open: readonly string[] = [],
): readonly string[] {
  const uses = messages.flatMap(toolUsesOf).map(({ id }) => id);
  const results = messages.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId);
  const count = (ids: readonly string[], id: string): number =>
    ids.filter((other) => other === id).length;
  return [
    ...messages
      .filter(({ id }, index) => messages.findIndex((other) => other.id === id) < index)
      .map(({ id }) => `message ${id} twice`),
    ...uses.filter((id) => count(uses, id) > 1).map((id) => `call ${id} twice`),
    ...uses
      .filter((id) => count(results, id) !== Number(!open.includes(id)))
      .map((id) => `call ${id} has ${count(results, id)} results`),
    ...results.filter((id) => !uses.includes(id)).map((id) => `result ${id} without a call`),
  ];
}

/**
 * Returns the faults of a model request. Model servers require that the results of tool calls
 * directly follow the tool calls, in the same order.
 */
export function requestFaults(messages: readonly Msg[]): readonly string[] {
  const faults: string[] = [];
  let expected: string[] = [];
  for (const message of messages) {
    const results = toolResultsOf(message);
    const isResult = message.role === 'tool' || results.length > 0;
    if (!isResult && expected.length)
      faults.push(`${expected.join()} has no result before ${message.id}`);
    if (!isResult) expected = toolUsesOf(message).map(({ id }) => id);
    for (const { toolUseId } of results) {
      if (expected.shift() !== toolUseId) faults.push(`the result of ${toolUseId} is out of place`);
    }
  }
  return expected.length ? [...faults, `${expected.join()} has no result`] : faults;
}
