import { AgentError, type AgentEvent, type AgentResult } from '@isoloop/core';
import { toText, type ApiCall, type ApiFormat, type EncodeBatch } from '@isoloop/edge/api';
import { callsOfAnswer } from '../wire/external-calls.ts';
import {
  createOpenAiEncoder,
  toChatCompletion,
  type OpenAiEncoderOptions,
} from '../wire/openai-encoder.ts';
import {
  createResponsesEncoder,
  type ResponsesEncoderOptions,
} from '../wire/responses/responses-encoder.ts';
import { toResponse } from '../wire/responses/finished-response.ts';

/** OpenAI format of an answer. */
export type OpenAiFormat = ApiFormat &
  (
    | { readonly kind: 'completion'; readonly completion: Completion }
    | { readonly kind: 'response'; readonly response: ResponseSettings }
  );

/**
 * Options of a chat completion, as plain JSON. The Worker sends the options to the Durable Object,
 * which encodes the answer.
 */
type Completion = Omit<OpenAiEncoderOptions, 'isExternal'>;

/** Options of a response, as plain JSON. */
type ResponseSettings = Omit<ResponsesEncoderOptions, 'isExternal'>;

/**
 * Returns the response with an answer that is not streamed. Throws `PENDING_TOOL_CALLS` if the run
 * waits for a decision that a client of this API cannot give.
 */
export function wholeAnswer(
  result: AgentResult,
  format: OpenAiFormat,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const waitError = waitErrorOf(result);
  if (waitError) throw waitError;
  const body =
    format.kind === 'completion'
      ? toChatCompletion(result, format.completion)
      : toResponse(result, format.response);
  return Response.json(body, { headers });
}

/**
 * Creates an encoder for a streamed answer. If the run waits for a decision that a client of this
 * API cannot give, the stream ends with an error.
 */
export function answerEncoder(
  format: OpenAiFormat,
  call: Pick<ApiCall, 'isExternal'> | undefined,
): EncodeBatch {
  const external = call && { isExternal: call.isExternal };
  const encoder =
    format.kind === 'completion'
      ? createOpenAiEncoder({ ...format.completion, ...external })
      : createResponsesEncoder({ ...format.response, ...external });
  return (batch) => encoder.encode(batch.map(withWaitError)).map(namedEvent);
}

/** In the Responses API, the name of each event is its `type`. Chunks of completions have none. */
function namedEvent(chunk: { readonly type?: string }): string {
  return (chunk.type ? `event: ${chunk.type}\n` : '') + toText(chunk);
}

/** Replaces the end of a run that waits for decisions that the client cannot give by an error. */
function withWaitError(event: AgentEvent): AgentEvent {
  if (event.type !== 'run-end' || event.agentPath.length > 1) return event;
  const waitError = waitErrorOf(event.result);
  return waitError ? { ...event, type: 'error', error: waitError.toJSON() } : event;
}

/**
 * Returns an error if the run waits only for decisions that a client of this API cannot give, such
 * as approvals.
 */
function waitErrorOf(result: AgentResult): AgentError | undefined {
  const pending = callsOfAnswer(result);
  if (!pending.length || pending.some(({ kind }) => kind === 'external')) return undefined;
  const names = [...new Set(pending.map(({ name }) => name))].join(', ');
  return new AgentError(
    'PENDING_TOOL_CALLS',
    `The agent waits for a decision that cannot be given here, about: ${names}.`,
  );
}
