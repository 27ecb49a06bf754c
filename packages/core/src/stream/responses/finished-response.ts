import type { AgentResult } from '../../event/agent-result.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import type { Usage } from '../../model/usage.ts';
import { argumentsText, externalCalls } from '../external-calls.ts';
import {
  itemId,
  outputText,
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
  const thinking = options.reasoning ? thinkingOf(result.message) : [];
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
      status: statusOf(result),
      role: 'assistant',
      content: (texts.length ? texts : ['']).map(outputText),
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
  const status = statusOf(result);
  const reason = result.reason === 'rejected' ? 'content_filter' : 'max_output_tokens';
  return responseObject(options, {
    status,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    output,
    usage: toUsage(result.usage),
  });
}

/** Returns whether the last reply is complete. A rejected reply, or one at a limit, is not. */
export function statusOf(result: AgentResult): 'completed' | 'incomplete' {
  if (externalCalls(result).length) return 'completed';
  const isCut = result.message.metadata?.['finishReason'] === 'length';
  return isCut || result.reason === 'rejected' ? 'incomplete' : 'completed';
}

export function phaseOf(message: Msg): NonNullable<ResponseMessage['phase']> {
  return toolUsesOf(message).length ? 'commentary' : 'final_answer';
}

/** Returns the texts of the answer that are not empty. */
export function answerTexts(
  { message, text }: AgentResult,
  { wholeText }: Pick<ResponseOptions, 'wholeText'>,
): readonly string[] {
  if (!wholeText) return textsOf(message);
  return text ? [text] : [];
}

/** Returns the texts of a message that are not empty. */
export function textsOf({ content }: Msg): readonly string[] {
  return content.flatMap((block) => (block.type === 'text' && block.text ? [block.text] : []));
}

function thinkingOf({ content }: Msg): readonly string[] {
  return content.flatMap((block) =>
    block.type === 'thinking' && block.thinking ? [block.thinking] : [],
  );
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
