import { type AgentEvent, ReActAgent, type AgentOptions } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';

export interface ScriptedAgent {
  readonly agent: ReActAgent;
  readonly model: ScriptedModel;
}

/** Creates an agent named `a`, whose model gives these replies. */
export function scriptedAgent(
  replies: readonly ScriptedReply[],
  options: Partial<AgentOptions> = {},
): ScriptedAgent {
  const model = new ScriptedModel(replies);
  return { agent: new ReActAgent({ name: 'a', model, ...options }), model };
}

/** Creates a reply that calls these tools without arguments. */
export function calls(...names: readonly string[]): ScriptedReply {
  return { toolCalls: names.map((name) => ({ name })) };
}

/** Reads a stream of a run to its end. */
export async function eventsOf(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Returns a promise, and the function that resolves it. */
export function gate(): { readonly wait: Promise<void>; readonly open: () => void } {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  return { wait, open };
}
