import type { EventBatch } from '../hook/agent-event.ts';
import type { Msg } from '../message/msg.ts';
import type { Run } from './run.ts';

/** The messages of the next request, made to fit the model's window by the agent's policy, where it has one. */
export async function* fitRequest(run: Run): AsyncGenerator<EventBatch, readonly Msg[]> {
  const { options } = run.setup;
  const all = run.request();
  if (!options.context) return all;
  const { messages, ...counts } = await options.context({ messages: all, tools: run.schemas(), promptId: run.promptId });
  if (counts.removed) yield await run.notify('context-fitted', counts);
  return messages;
}
