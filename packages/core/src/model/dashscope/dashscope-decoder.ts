import { isRecord } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';
import type { AgentError } from '../../error/agent-error.ts';
import type { ReplyDecoder } from '../formatter.ts';
import { errorOfChunk } from '../http/provider-error.ts';
import { OpenAiDecoder } from '../openai/openai-decoder.ts';
import type { WireChoice, WireUsage } from '../openai/openai-wire.ts';
import { withOwnCode } from './dashscope-error.ts';

/** Chunk of DashScope. Any field may be missing or null, as with other providers. */
interface DashScopeChunk {
  readonly output?: { readonly choices?: readonly (WireChoice | null)[] | null } | null;
  readonly usage?: DashScopeUsage | null;
  readonly request_id?: string | null;
}

interface DashScopeUsage {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly total_tokens?: number | null;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null;
  /** Sent only by the multimodal service. */
  readonly input_tokens_details?: { readonly cached_tokens?: number | null } | null;
  readonly output_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
}

/**
 * Decodes DashScope's replies. DashScope's chunks differ from chat-completions chunks only in some
 * names, so the chat-completions decoder does the work.
 */
export class DashScopeDecoder implements ReplyDecoder {
  readonly #choices = new OpenAiDecoder();

  get finished(): boolean {
    return this.#choices.finished;
  }

  get ended(): false | undefined {
    return this.#choices.ended;
  }

  errorOf(chunk: unknown, isErrorEvent: boolean): AgentError | undefined {
    const error = errorOfChunk(chunk, isErrorEvent);
    return error && withOwnCode(error);
  }

  decode(chunk: unknown, deltas: ModelDelta[]): void {
    if (!isRecord(chunk)) return;
    const { output, usage, request_id: id } = chunk as DashScopeChunk;
    const [choice] = output?.choices ?? [];
    this.#choices.decode(
      { id, choices: choice && [withReason(choice)], usage: usage && toWireUsage(usage) },
      deltas,
    );
  }

  end(): ModelDelta {
    return this.#choices.end();
  }
}

/** Replaces the finish reason `"null"`, a string that DashScope sends until the reply ends. */
function withReason(choice: WireChoice): WireChoice {
  return choice.finish_reason === 'null' ? { ...choice, finish_reason: null } : choice;
}

function toWireUsage(usage: DashScopeUsage): WireUsage {
  const {
    input_tokens,
    output_tokens,
    total_tokens,
    prompt_tokens_details,
    input_tokens_details,
    output_tokens_details,
  } = usage;
  return {
    prompt_tokens: input_tokens ?? null,
    completion_tokens: output_tokens ?? null,
    total_tokens: total_tokens ?? null,
    prompt_tokens_details: {
      cached_tokens:
        prompt_tokens_details?.cached_tokens ?? input_tokens_details?.cached_tokens ?? null,
    },
    completion_tokens_details: output_tokens_details ?? null,
  };
}
