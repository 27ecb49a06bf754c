import { AgentError } from '../error/agent-error.ts';
import { shortenText } from '../message/text.ts';
import { metadataOf } from '../message/metadata.ts';
import type { Msg } from '../message/msg.ts';

/**
 * Why a reply of the model may not be whole.
 *
 * - `length`: it reached a limit of its length, the context window or a time limit of the provider.
 * - `filtered`: the provider's filter withheld it, or the rest of it.
 * - `other`: another reason of the provider, which `metadata.finishReason` contains. The reason is
 *   `unknown` if a streamed text ended without one, because the text may have been cut.
 */
export type IncompleteReason = 'length' | 'filtered' | 'other';

/**
 * What a finish reason says about a reply. `calls`: it ends with tool calls. `failed`: the provider
 * could not finish it, or could not read its tool call.
 */
export type FinishMeaning = 'complete' | 'calls' | 'failed' | IncompleteReason;

/**
 * The finish reasons of all formats, by their meaning. The first match counts, so that a prefix
 * such as `function_call_filter: ` is no filter. All other reasons mean `other`. Sources:
 *
 * - OpenAI: `stop`, `length`, `tool_calls`, `content_filter`, `function_call`
 *   (https://github.com/openai/openai-openapi/pull/88). Responses: `max_output_tokens`,
 *   `content_filter`, `max_messages`, `steered`
 *   (https://docs.rs/crate/openai-client-base/0.16.0/source/src/models/object0_21.rs).
 * - Gemini: https://googleapis.github.io/js-genai/release_docs/enums/types.FinishReason.html. Its
 *   chat completions send these words (https://github.com/HKUDS/Vibe-Trading/pull/308), some after
 *   `content_filter: ` or `function_call_filter: `
 *   (https://github.com/ravendb/ravendb/blob/313f66f/src/Raven.Server/Documents/AI/Settings/AbstractOpenAiCompatibleChatCompletionProvider.cs).
 * - GLM: `sensitive`, `network_error`, `model_context_window_exceeded`
 *   (https://docs.z.ai/api-reference/llm/chat-completion,
 *   https://github.com/mozilla-ai/any-llm/pull/1204).
 * - DeepSeek: `insufficient_system_resource`
 *   (https://docs.rs/crate/ds-api/latest/source/src/raw/response/non_streaming/finish_reason.rs).
 * - OpenRouter: `error` (https://github.com/pydantic/pydantic-ai/issues/2844). Gateways:
 *   `engine_overloaded`, `failed` (https://github.com/Kilo-Org/cloud/pull/3071).
 * - Mistral: `model_length`, `error`
 *   (https://docs.rs/crate/mistral-openapi-client/latest/source/src/models/chat_completion_choice.rs).
 * - Hugging Face and Together: `eos_token`, `eos`. Anthropic and Cohere, through gateways:
 *   https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/core_helpers.py.
 * - watsonx: `cancelled`, `error`
 *   (https://ibm.github.io/watsonx-ai-node-sdk/enums/1_7_x.WatsonXAI.TextChatResultChoice.Constants.FinishReason.html).
 * - vLLM: `tool_calls` without a call (https://github.com/vllm-project/vllm/issues/53255).
 */
const meanings: readonly (readonly [meaning: FinishMeaning, finishReasons: RegExp])[] = [
  ['complete', /^(|stop(_sequence)?|end_turn|eos(_token)?|completed?)$/i],
  ['calls', /^(tool|function).(call|use)s?$/i],
  [
    'failed',
    /(^|_)error$|^(fail|abort|cancel|function_call_filter)|overloaded|insufficient|malformed|(unexpected|many)_tool/i,
  ],
  ['filtered', /filter|refusal|sensitive|recitation|blocklist|spii|safety|prohibited/i],
  ['length', /(^|_)(length|tokens)$|window_exceeded/i],
];

/** Returns what a finish reason means, in the words of any provider. */
export function finishMeaning(reason = ''): FinishMeaning {
  return meanings.find(([, finishReasons]) => finishReasons.test(reason))?.[0] ?? 'other';
}

/**
 * Returns the error of a reply that the provider could not finish, or that announces tool calls and
 * has none. Returns `undefined` for other replies. Another try may help, so the error is retryable.
 */
export function finishError(reason: string, hasCalls: boolean): AgentError | undefined {
  const meaning = finishMeaning(reason);
  const lacksCalls = meaning === 'calls' && !hasCalls;
  if (meaning !== 'failed' && !lacksCalls) return undefined;
  const what = lacksCalls ? 'without a tool call ' : '';
  const problem = `The reply ended ${what}with the finish reason "${shortenText(reason, 100)}"`;
  return new AgentError('MODEL_SERVER', problem, { retryable: true });
}

/** Returns why a reply may not be whole, or `undefined` if the model ended it itself. */
export function incompleteReason(reply: Pick<Msg, 'metadata'>): IncompleteReason | undefined {
  const meaning = finishMeaning(metadataOf(reply).finishReason);
  if (meaning === 'complete' || meaning === 'calls') return undefined;
  return meaning === 'failed' ? 'other' : meaning;
}
