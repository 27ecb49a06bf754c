import type { AgentEvent } from '../event/agent-event.ts';
import { omitUndefined, type JsonObject } from '../message/json.ts';
import { textOf, toolUsesOf, type Msg } from '../message/msg.ts';
import { incompleteReason } from '../model/finish-reason.ts';

/**
 * Converts an event to an entry of a timeline, without prompts, messages and tool schemas. Returns
 * `undefined` for the chunks of a model's reply, which other parts of the stream contain.
 */
export function toTimelineEvent(event: AgentEvent): JsonObject | undefined {
  const { type, runId, seq, iteration, at } = event;
  const fields = describe(event);
  return fields && { type, runId, seq, iteration, at, agentPath: [...event.agentPath], ...fields };
}

function describe(event: AgentEvent): JsonObject | undefined {
  switch (event.type) {
    case 'reasoning-chunk':
    case 'tool-input-chunk':
    case 'hosted-tool-chunk':
    case 'summary-chunk':
      return undefined;
    case 'pre-call':
      return { messages: event.input.length };
    case 'pre-reasoning':
      return { messages: event.messages.length, tools: event.tools.length };
    case 'pre-summary':
      return { messages: event.messages.length };
    case 'post-reasoning':
      return {
        ...lengthOf(event.message),
        toolCalls: toolUsesOf(event.message).map(({ name }) => name),
      };
    case 'post-call':
    case 'post-summary':
      return lengthOf(event.message);
    case 'pre-acting':
      return { toolUseId: event.toolUse.id, name: event.toolUse.name };
    case 'acting-chunk':
      return { toolUseId: event.toolUseId, chunk: event.chunk };
    case 'post-acting':
      return { toolUseId: event.toolUse.id, name: event.toolUse.name, state: event.result.state };
    case 'context-fitted':
      return { removed: event.removed, before: event.before, after: event.after };
    case 'step-reset':
      return { reason: event.reason };
    case 'suspended':
      return {
        pending: event.pending.map(({ toolUseId, name, kind }) => ({ toolUseId, name, kind })),
      };
    case 'error':
      return { code: event.error.code, message: event.error.message };
    case 'run-end': {
      const { reason, incomplete, usage, durationMs, iterations, toolsUsed } = event.result;
      return {
        reason,
        ...(incomplete && { incomplete }),
        usage: { ...usage },
        durationMs,
        iterations,
        toolsUsed,
      };
    }
    case 'run-start':
      return {};
  }
}

function lengthOf(message: Msg): JsonObject {
  return omitUndefined({
    characters: textOf(message).length,
    incomplete: incompleteReason(message),
  });
}
