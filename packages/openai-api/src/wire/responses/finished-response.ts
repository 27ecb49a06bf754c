import { toolUsesOf, type AgentResult, type Msg, type Usage } from '@isoloop/core';
import { replyState } from '@isoloop/core/stream';
import { thinkingOf } from '@isoloop/core/message';
import { finishWords } from '../finish-words.ts';
import { argumentsText, externalCalls } from '../external-calls.ts';
import { answerTexts, emptyText } from './answer-text.ts';
import {
  itemId,
  outputTextPart,
  responseObject,
  type ResponseItem,
  type ResponseMessage,
  type ResponseObject,
  type ResponseOptions,
  type ResponseUsage,
} from './response-object.ts';

/**
 * Returns the response for an agent call that has ended. It contains the last reply and the pending
 * external tool calls.
 */
export function toResponse(result: AgentResult, options: ResponseOptions): ResponseObject {
  const output: ResponseItem[] = [];
  const id = (type: ResponseItem['type']): string => itemId(type, options.id, output.length);
  const thinking = options.reasoning !== false ? thinkingOf(result.message) : [];
  if (thinking.length) {
    const summary = thinking.map((text) => ({ type: 'summary_text', text }) as const);
    output.push({ type: 'reasoning', id: id('reasoning'), status: 'completed', summary });
  }
  const texts = answerTexts(result, options);
  const calls = externalCalls(result);
  if (texts.length || !calls.length) {
    output.push({
      type: 'message',
      id: id('message'),
      status: itemStatus(result.message),
      role: 'assistant',
      content: (texts.length ? texts : [emptyText]).map(({ text, annotations }) =>
        outputTextPart(text, annotations),
      ),
      phase: phaseOf(result.message),
    });
  }
  for (const call of calls) {
    output.push({
      type: 'function_call',
      id: id('function_call'),
      status: 'completed',
      call_id: call.toolUseId,
      name: call.name,
      arguments: argumentsText(call),
    });
  }
  return finishedResponse(result, options, output);
}

/** Returns the response of an ended agent call with the given items. */
export function finishedResponse(
  result: AgentResult,
  options: ResponseOptions,
  output: readonly ResponseItem[],
): ResponseObject {
  const { status, incomplete } = finishWords(result);
  const { code, message } = result.error ?? { code: 'INTERNAL', message: 'The run failed.' };
  return responseObject(options, {
    status,
    error: status === 'failed' ? { code, message } : null,
    incomplete_details: incomplete ? { reason: incomplete } : null,
    output,
    usage: toUsage(result.usage),
  });
}

export function itemStatus(message: Msg): 'completed' | 'incomplete' {
  return replyState(message) === 'complete' ? 'completed' : 'incomplete';
}

export function phaseOf(message: Msg): NonNullable<ResponseMessage['phase']> {
  return toolUsesOf(message).length ? 'commentary' : 'final_answer';
}

function toUsage(usage: Usage): ResponseUsage {
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}
