import type { Attributes } from '@opentelemetry/api';
import { omitUndefined, type JsonObject, type JsonValue } from '../message/json.ts';
import type { AgentErrorData } from '../error/agent-error.ts';
import { maskSecrets } from '../error/mask-secrets.ts';
import { maskErrors, maskParameters } from '../message/mask-parameters.ts';
import type { ContentBlock, ToolResult, ToolUse, Msg } from '../message/msg.ts';
import type { ModelRequest, RunInfo, Usage } from '../model/chat-model.ts';

/** Returns the attributes that identify the run, session and user of a span. */
export function runAttributes({ runId, sessionId, userId }: RunInfo): Attributes {
  return omitUndefined({
    'gen_ai.conversation.id': sessionId,
    'isoloop.run.id': runId,
    'user.id': userId,
  });
}

export function requestAttributes(request: ModelRequest): Attributes {
  const { stop, responseSchema } = request;
  return omitUndefined({
    'gen_ai.request.temperature': request.temperature,
    'gen_ai.request.top_p': request.topP,
    'gen_ai.request.seed': request.seed,
    'gen_ai.request.stop_sequences': stop && [...stop],
    'gen_ai.request.max_tokens': request.maxTokens,
    'gen_ai.output.type': responseSchema && 'json',
  });
}

export function usageAttributes(usage: Usage): Attributes {
  return omitUndefined({
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
  });
}

/** Returns the attributes of an error after which the run continued. */
export function errorAttributes({ code, message }: AgentErrorData): Attributes {
  return { 'error.type': code, 'error.message': maskSecrets(message) };
}

/** Secrets in the arguments are masked. `hasContent`: whether the attributes have the arguments. */
export function toolAttributes({ name, id, input }: ToolUse, hasContent: boolean): Attributes {
  return {
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': id,
    ...(hasContent && { 'gen_ai.tool.call.arguments': JSON.stringify(maskParameters(input)) }),
  };
}

/**
 * Returns the value of `gen_ai.input.messages`: JSON text of `{ role, parts }`, as OpenTelemetry's
 * conventions require. Secrets in tool arguments are masked, and media contain no data.
 */
export function inputMessages(messages: readonly Msg[]): string {
  return JSON.stringify(
    messages.map(({ role, content }) => ({ role, parts: content.map(toPart) })),
  );
}

/** Returns the value of `gen_ai.output.messages`: JSON text of one reply. */
export function outputMessages(content: readonly ContentBlock[], finishReason: string): string {
  const parts = content.map(toPart);
  return JSON.stringify([{ role: 'assistant', parts, finish_reason: finishReason }]);
}

export function resultText(result: ToolResult): string {
  const response = responseOf(result);
  return typeof response === 'string' ? response : JSON.stringify(response);
}

function toPart(block: ContentBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', content: block.text };
    case 'thinking':
      return { type: 'reasoning', content: block.thinking };
    case 'tool_use': {
      const { id, name, input } = block;
      return { type: 'tool_call', id, name, arguments: maskParameters(input) };
    }
    case 'tool_result':
      return { type: 'tool_call_response', id: block.toolUseId, response: responseOf(block) };
    default: {
      const { type: modality, source } = block;
      const { mediaType } = source;
      const mediaFields = { modality, ...(mediaType !== undefined && { mime_type: mediaType }) };
      return source.type === 'url'
        ? { type: 'uri', ...mediaFields, uri: source.url }
        : { type: 'blob', ...mediaFields };
    }
  }
}

function responseOf({ output, state }: ToolResult): JsonValue {
  return maskErrors(typeof output === 'string' ? output : output.map(toPart), state === 'error');
}
