import {
  toolResultsOf,
  toolUsesOf,
  type AgentEvent,
  type EventBatch,
  type Memory,
  type Msg,
} from '@isoloop/core';
import { isCorrection, hostedToolOf, isQuestion } from '@isoloop/core/message';
import { messagesBefore } from '@isoloop/core/host';
import { lastRun } from './chat-turn.ts';

/**
 * Returns the messages that answer the last user message so far. Omits messages that the next agent
 * call without input would remove or produce again.
 */
export async function answerSoFar(memory: Memory): Promise<readonly Msg[]> {
  const { openRunId } = await lastRun(memory);
  const messages = messagesBefore({ messages: await memory.read(), openRunId });
  return messages.slice(messages.findLastIndex(isQuestion) + 1);
}

/**
 * Converts an answer in the stored log to the events that readers got when the answer was produced.
 */
export function toEvents(messages: readonly Msg[]): EventBatch {
  const toolUses = new Map(messages.flatMap(toolUsesOf).map((toolUse) => [toolUse.id, toolUse]));
  return messages.flatMap((message) => {
    if (isCorrection(message)) return [];
    const results = toolResultsOf(message).flatMap((result) => {
      const toolUse = toolUses.get(result.toolUseId);
      return toolUse ? [eventOf({ type: 'post-acting', toolUse, result })] : [];
    });
    if (message.role !== 'assistant') return results;
    const blockEvents = message.content.flatMap((block, index) => {
      const hostedTool = hostedToolOf(block);
      if (hostedTool)
        return [
          eventOf({ type: 'hosted-tool-chunk', blockId: `${message.id}:${index}`, hostedTool }),
        ];
      const kind = block.type === 'thinking' ? 'thinking' : 'text';
      const delta =
        block.type === 'thinking' ? block.thinking : block.type === 'text' ? block.text : '';
      return delta
        ? [eventOf({ type: 'reasoning-chunk', kind, blockId: `${message.id}:${index}`, delta })]
        : [];
    });
    return [
      eventOf({ type: 'pre-reasoning', messages: [], tools: [], options: {} }),
      ...blockEvents,
      eventOf({ type: 'post-reasoning', message }),
    ];
  });
}

/**
 * Creates an event with empty run and session ids, for a stream that needs events outside a run.
 */
export function eventOf(fields: object): AgentEvent {
  return {
    runId: '',
    sessionId: '',
    agentPath: [''],
    seq: 0,
    iteration: 0,
    at: 0,
    ...fields,
  } as unknown as AgentEvent;
}
