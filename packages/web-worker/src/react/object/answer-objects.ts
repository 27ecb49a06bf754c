import { ObjectReader, outputToolName } from '@isoloop/core/adapter';
import { AgentError, type AgentErrorCode } from '@isoloop/core';
import { parseErrorText } from '@isoloop/core/ai-sdk';
import type { AnswerBatches } from '../chat/chat.ts';
import type { UIMessageChunk } from '../chat/ui-message-chunk.ts';

/**
 * Reads the object of a structured answer from the chunks of the answer. Yields at most one object
 * for each batch, and `undefined` if the model has to correct its answer. Returns the object if the
 * answer is complete. Rejects with the error of the answer.
 */
export async function* answerObjects(batches: AnswerBatches): AsyncGenerator<unknown, unknown> {
  const reader = new ObjectReader();
  let isDone = false;
  for await (const batch of batches) {
    for (const chunk of batch) {
      takeChunk(reader, chunk);
      isDone ||= chunk.type === 'finish' && chunk.finishReason === 'stop';
    }
    if (reader.update(isDone)) yield reader.value;
  }
  if (reader.update(true)) yield reader.value;
  return isDone && reader.isComplete ? reader.value : undefined;
}

function takeChunk(reader: ObjectReader, chunk: UIMessageChunk): void {
  switch (chunk.type) {
    case 'start-step':
    case 'reset-step':
      return reader.reset();
    case 'text-delta':
      return reader.text(chunk.id, chunk.delta);
    case 'tool-input-start':
      return chunk.toolName === outputToolName ? reader.input(chunk.toolCallId, '') : undefined;
    case 'tool-input-delta': {
      const { toolCallId, inputTextDelta } = chunk;
      return reader.isReading(toolCallId) ? reader.input(toolCallId, inputTextDelta) : undefined;
    }
    case 'tool-input-available': {
      const { toolName, toolCallId, input } = chunk;
      const isNew = toolName === outputToolName && !reader.isReading(toolCallId);
      return isNew ? reader.input(toolCallId, JSON.stringify(input)) : undefined;
    }
    case 'error': {
      const { message, code = 'INTERNAL' } = parseErrorText(chunk.errorText);
      throw new AgentError(code as AgentErrorCode, message);
    }
    default:
      return undefined;
  }
}
