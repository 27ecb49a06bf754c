import {
  outputText,
  textOf,
  toolResultsOf,
  type AgentEvent,
  type ModelRequest,
  type Msg,
} from '@isoloop/core';

/** A promise, and the function that fulfills it. */
export interface Gate {
  readonly open: () => void;
  readonly opened: Promise<void>;
}

/** Creates a gate for code that must wait until the test goes on. */
export function gate(): Gate {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

export async function eventsOf(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Returns the outputs of all tool results in these messages as texts. */
export const outputsOf = (messages: readonly Msg[]): string[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => outputText(output));

/** Returns the texts of a request's system messages. */
export const systemOf = (request: ModelRequest | undefined): readonly string[] =>
  (request?.messages ?? []).filter(({ role }) => role === 'system').map(textOf);
