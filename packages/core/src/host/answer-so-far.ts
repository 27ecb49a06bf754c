import type { AgentEvent, EventBatch } from '../event/agent-event.ts';
import { messagesBefore } from '../memory/log/resumption.ts';
import type { Memory } from '../memory/memory.ts';
import { isCorrection } from '../message/metadata.ts';
import { toolResultsOf, toolUsesOf, type Msg } from '../message/msg.ts';
import { hostedToolOf } from '../message/provider-metadata.ts';
import { isQuestion } from '../message/conversation/turns.ts';
import type { UiChunk } from '../stream/ui/ui-chunk.ts';
import type { UiMessageEncoder } from '../stream/ui/ui-message-encoder.ts';
import { lastRun } from './stored-view.ts';

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
function answerEvents(messages: readonly Msg[]): EventBatch {
  const toolUses = new Map(messages.flatMap(toolUsesOf).map((toolUse) => [toolUse.id, toolUse]));
  return messages.flatMap((message) => {
    if (isCorrection(message)) return [];
    const results = toolResultsOf(message).flatMap((result) => {
      const toolUse = toolUses.get(result.toolUseId);
      return toolUse ? [eventWith({ type: 'post-acting', toolUse, result })] : [];
    });
    if (message.role !== 'assistant') return results;
    const blockEvents = message.content.flatMap((block, index) => {
      const hostedTool = hostedToolOf(block);
      if (hostedTool)
        return [
          eventWith({ type: 'hosted-tool-chunk', blockId: `${message.id}:${index}`, hostedTool }),
        ];
      if (block.type !== 'thinking' && block.type !== 'text') return [];
      const { type: kind } = block;
      const delta = block.type === 'thinking' ? block.thinking : block.text;
      return delta
        ? [eventWith({ type: 'reasoning-chunk', kind, blockId: `${message.id}:${index}`, delta })]
        : [];
    });
    return [
      eventWith({ type: 'pre-reasoning', messages: [], tools: [], options: {} }),
      ...blockEvents,
      eventWith({ type: 'post-reasoning', message }),
    ];
  });
}

/**
 * Creates an event with empty run and session ids, for a stream that needs events outside a run.
 */
export function eventWith(fields: object): AgentEvent {
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

/**
 * Returns an encoder for a reader that rebuilds a whole answer, of which earlier runs have stored
 * the beginning. Their content follows the `start` chunk of the run that continues the answer.
 */
export function withEarlierAnswer(
  { encode }: UiMessageEncoder,
  earlierMessages: readonly Msg[],
): UiMessageEncoder {
  if (!earlierMessages.length) return { encode };
  return {
    encode(batch) {
      const start = batch.findIndex(startsRun) + 1;
      if (!start) return encode(batch);
      return [
        ...encode(batch.slice(0, start)),
        ...encode(answerEvents(earlierMessages)).filter(isContent),
        ...encode(batch.slice(start)),
      ];
    },
  };
}

/** Returns whether an event is the start of the agent's run, not of an agent that is its tool. */
function startsRun({ type, agentPath }: AgentEvent): boolean {
  return type === 'run-start' && agentPath.length < 2;
}

function isContent({ type }: UiChunk): boolean {
  return type !== 'data-isoloop-event';
}
