import { AgentError, type AgentErrorCode } from '../../error/agent-error.ts';
import { isObjectOrArray } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';
import type { Loose } from '../formatter.ts';
import { errorOfChunk } from '../http/provider-error.ts';
import { OpenAiDecoder, type WireChoice, type WireUsage } from '../openai/openai-decoder.ts';

/** Chunk of DashScope. Any field may be missing or null, as with other providers. */
type DashScopeChunk = Loose<{
  output: Loose<{ choices: readonly (WireChoice | null)[] }>;
  usage: DashScopeUsage;
  request_id: string;
}>;

type DashScopeUsage = Loose<{
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  prompt_tokens_details: Loose<{ cached_tokens: number }>;
  /** Sent only by the multimodal service. */
  input_tokens_details: Loose<{ cached_tokens: number }>;
  output_tokens_details: Loose<{ reasoning_tokens: number }>;
}>;

/**
 * Decodes DashScope's replies. DashScope's chunks differ from chat-completions chunks only in some
 * names.
 */
export class DashScopeDecoder extends OpenAiDecoder {
  errorOf(chunk: unknown, isErrorEvent: boolean): AgentError | undefined {
    const error = errorOfChunk(chunk, isErrorEvent);
    return error && withOwnCode(error);
  }

  override decode(chunk: unknown, deltas: ModelDelta[]): void {
    if (!isObjectOrArray(chunk)) return;
    const { output, usage, request_id: id } = chunk as DashScopeChunk;
    const choices = output?.choices?.slice(0, 1).map(withReason);
    super.decode({ id, choices, usage: usage && toWireUsage(usage) }, deltas);
  }
}

/** Replaces the finish reason `"null"`, a string that DashScope sends until the reply ends. */
function withReason(choice: WireChoice | null): WireChoice | null {
  return choice?.finish_reason === 'null' ? { ...choice, finish_reason: null } : choice;
}

function toWireUsage(usage: DashScopeUsage): WireUsage {
  const { prompt_tokens_details: prompt, input_tokens_details: input } = usage;
  return {
    prompt_tokens: usage.input_tokens ?? null,
    completion_tokens: usage.output_tokens ?? null,
    total_tokens: usage.total_tokens ?? null,
    prompt_tokens_details: { cached_tokens: prompt?.cached_tokens ?? input?.cached_tokens ?? null },
    completion_tokens_details: usage.output_tokens_details ?? null,
  };
}

type Meaning = readonly [pattern: RegExp, code: AgentErrorCode, retryable: boolean];

/** Codes for DashScope's error codes, by their first characters. The last one is for any other. */
const meanings: readonly Meaning[] = [
  [/^(throttling|limit_requests)/i, 'MODEL_RATE_LIMITED', true],
  [/^(invalid_?api_?key|(\w+\.)?accessdenied)/i, 'MODEL_AUTH', false],
  [/^(requesttimeout|responsetimeout)/i, 'MODEL_TIMEOUT', true],
  [/^(internal(error|_)|systemerror|badgateway)/i, 'MODEL_SERVER', true],
  [/^(serviceunavailable|model(unavailable|servingerror))/i, 'MODEL_SERVER', true],
  [/^/, 'MODEL_REQUEST', false],
];

/**
 * Returns the error of a chunk with the code that DashScope's own code means. Its HTTP status is
 * only in a comment of the event stream, which the parser does not return. Other errors stay
 * unchanged.
 */
function withOwnCode(error: AgentError): AgentError {
  const providerCode = error.details?.['providerCode'];
  if (error.code !== 'MODEL_SERVER' || typeof providerCode !== 'string') return error;
  const [, code, retryable] = meanings.find(([pattern]) => pattern.test(providerCode))!;
  return new AgentError(code, error.message, { retryable, details: error.details });
}
