import { AgentError, type AgentErrorCode } from '../error/agent-error.ts';
import { shortenText } from '../message/text.ts';
import { metadataOf } from '../message/metadata.ts';
import type { Msg } from '../message/msg.ts';

/**
 * Why a reply of the model may not be whole.
 *
 * - `length`: it reached a limit of its length, the context window or a time limit of the provider.
 * - `filtered`: the provider's filter withheld it, or the rest of it.
 * - `other`: the provider gives another reason, which may be new. `metadata.finishReason` has it.
 */
export type IncompleteReason = 'length' | 'filtered' | 'other';

/**
 * What a finish reason says about a reply. `calls`: it ends with tool calls. `failed`: the provider
 * could not finish it.
 */
export type FinishMeaning = 'complete' | 'calls' | 'failed' | IncompleteReason;

interface FinishKind {
  readonly meaning: FinishMeaning;
  /** Matches the finish reason in lower case, with `_` for `-`. */
  readonly pattern: RegExp;
  /** Code of the error of a failed reply. */
  readonly code?: AgentErrorCode;
}

/**
 * The finish reasons of all formats, by their meaning. All other reasons mean `other`. Sources:
 *
 * - OpenAI: `stop`, `length`, `tool_calls`, `content_filter`, `function_call`
 *   (https://github.com/openai/openai-openapi/pull/88). Responses: `max_output_tokens`,
 *   `content_filter`, `max_messages`, `steered`
 *   (https://docs.rs/crate/openai-client-base/0.16.0/source/src/models/object0_21.rs).
 * - Gemini: https://firebase.google.com/docs/reference/kotlin/com/google/firebase/vertexai/type/FinishReason.
 *   Its chat completions add a prefix, such as `content_filter: ` or `function_call_filter: `
 *   (https://github.com/HKUDS/Vibe-Trading/pull/308).
 * - GLM: `sensitive`, `network_error`, `model_context_window_exceeded`
 *   (https://docs.z.ai/api-reference/llm/chat-completion,
 *   https://github.com/mozilla-ai/any-llm/pull/1204).
 * - DeepSeek: `insufficient_system_resource`
 *   (https://docs.rs/crate/ds-api/latest/source/src/raw/response/non_streaming/finish_reason.rs).
 * - OpenRouter: `error` (https://github.com/pydantic/pydantic-ai/issues/2844). Gateways:
 *   `engine_overloaded`, `failed` (https://github.com/Kilo-Org/cloud/pull/3071).
 * - Mistral: `model_length`, `error`
 *   (https://docs.rs/crate/mistral-openapi-client/latest/source/src/models/chat_completion_choice.rs).
 * - Anthropic, Bedrock, Cohere, Hugging Face, Together:
 *   https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/core_helpers.py.
 * - watsonx: `time_limit`, `token_limit`, `cancelled`, `error`
 *   (https://ibm.github.io/watsonx-ai-node-sdk/enums/1_7_x.WatsonXAI.TextChatResultChoice.Constants.FinishReason.html).
 */
const finishKinds: readonly FinishKind[] = [
  { meaning: 'complete', pattern: /^(stop|end_turn|stop_sequence|eos(_token)?|completed?)$/ },
  { meaning: 'calls', pattern: /^(tool_(calls?|use)|function_call)$/ },
  {
    meaning: 'length',
    pattern:
      /^(length|(max|max_output|max_completion)_tokens|(model_length|(token|time)_limit)|model_context_window_exceeded)$/,
  },
  {
    meaning: 'filtered',
    pattern:
      /^(content_filter.*|refusal|sensitive|error_toxic|guardrail_intervened|recitation|blocklist|spii|(image_)?(safety|prohibited_content)|image_recitation)$/,
  },
  {
    meaning: 'failed',
    code: 'MODEL_BAD_RESPONSE',
    pattern: /^(function_call_filter.*|malformed_.+|unexpected_tool_call|too_many_tool_calls)$/,
  },
  {
    meaning: 'failed',
    code: 'MODEL_SERVER',
    pattern:
      /^((.+_)?error|failed|aborted|abort|cancelled|timeout|engine_overloaded|insufficient_system_resource)$/,
  },
];

function finishKindOf(reason: string): FinishKind | undefined {
  const word = reason.toLowerCase().replaceAll('-', '_');
  return finishKinds.find(({ pattern }) => pattern.test(word));
}

/** Returns what a finish reason means, in the words of any provider. */
export function finishMeaning(reason: string): FinishMeaning {
  return finishKindOf(reason)?.meaning ?? 'other';
}

/**
 * Returns the error of a reply that the provider could not finish, or that announces tool calls and
 * has none. Returns `undefined` for other replies. Another try may help, so the error is retryable.
 */
export function finishError(reason: string, hasCalls: boolean): AgentError | undefined {
  const { meaning, code } = finishKindOf(reason) ?? {};
  const finishReason = shortenText(reason, 100);
  const fields = { retryable: true, details: { finishReason } };
  if (code)
    return new AgentError(code, `The model failed: its finish reason is "${finishReason}"`, fields);
  if (meaning !== 'calls' || hasCalls) return undefined;
  const problem = `The finish reason is "${finishReason}", but the reply has no tool call`;
  return new AgentError('MODEL_BAD_RESPONSE', problem, fields);
}

/** Returns why a reply may not be whole, or `undefined` if the model ended it itself. */
export function incompleteReason(reply: Pick<Msg, 'metadata'>): IncompleteReason | undefined {
  const { finishReason } = metadataOf(reply);
  if (typeof finishReason !== 'string' || !finishReason) return undefined;
  const meaning = finishMeaning(finishReason);
  if (meaning === 'complete' || meaning === 'calls') return undefined;
  return meaning === 'failed' ? 'other' : meaning;
}
