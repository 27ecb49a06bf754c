import type { AgentError } from '../../error/agent-error.ts';
import { failureInWords, type ModelFailure } from '../../error/model-failure.ts';
import { isObjectOrArray } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';
import type { Loose } from '../formatter/formatter.ts';
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
    return errorOfChunk(chunk, isErrorEvent, failureOfCode);
  }

  override decode(chunk: unknown, deltas: ModelDelta[]): void {
    if (!isObjectOrArray(chunk)) return;
    const { output, usage, request_id: id } = chunk as DashScopeChunk;
    const choices = output?.choices;
    super.decode({ id, choices, usage: usage && toWireUsage(usage) }, deltas);
  }
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

/**
 * Returns what an error with a code of DashScope means. Its HTTP status is only in a comment of the
 * event stream, which the parser does not return.
 */
function failureOfCode(words: string): ModelFailure {
  return failureInWords(words) ?? { code: 'MODEL_REQUEST', transient: false };
}
