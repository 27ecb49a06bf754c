import type { AgentResult } from '../agent/agent-result.ts';
import type { AgentEvent, EventBatch } from '../hook/agent-event.ts';
import type { Usage } from '../model/usage.ts';

export interface OpenAiEncoderOptions {
  /** The model's name as the client asked for it. */
  readonly model: string;
  /** The completion's id, `chatcmpl-…`. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** A last chunk with the token counts (`stream_options.include_usage`). Default false. */
  readonly includeUsage?: boolean;
  /** The text goes out in one piece at the end: for answers whose tries are no part of them, such as JSON. Default false. */
  readonly wholeText?: boolean;
}

/** A call of one of the client's own tools. */
export interface ChatCompletionToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export type ChatCompletionFinish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface ChatCompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export interface ChatCompletionChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    readonly delta: {
      readonly role?: 'assistant';
      readonly content?: string;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly (ChatCompletionToolCall & { readonly index: number })[];
    };
    readonly finish_reason: ChatCompletionFinish | null;
    readonly logprobs: null;
  }[];
  readonly usage?: ChatCompletionUsage;
}

export interface ChatCompletion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    readonly message: {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly refusal: null;
      readonly tool_calls?: readonly ChatCompletionToolCall[];
    };
    readonly finish_reason: ChatCompletionFinish;
    readonly logprobs: null;
  }[];
  readonly usage: ChatCompletionUsage;
}

/** An error in OpenAI's shape: a body of its own, or an event in mid-stream. */
export interface OpenAiError {
  readonly error: { readonly message: string; readonly type: string; readonly code: string; readonly param: null };
}

export interface OpenAiEncoder {
  encode(batch: EventBatch): readonly (ChatCompletionChunk | OpenAiError)[];
}

/**
 * Agent events as chat-completion chunks, adjacent deltas joined: one encoder a run. Tools that run here do not show; calls of external
 * ones, which the run ends with, come at its end as `tool_calls`. The texts of several replies are set apart by a blank line. What a
 * hook takes back by `step-reset` has gone out already.
 */
export function createOpenAiEncoder(options: OpenAiEncoderOptions): OpenAiEncoder {
  const { id, created, model } = options;
  const chunk = (delta: Delta, finish: ChatCompletionFinish | null = null): ChatCompletionChunk => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
  });
  let wrote: { readonly iteration: number } | undefined;

  const encode = (event: AgentEvent): readonly (ChatCompletionChunk | OpenAiError)[] => {
    switch (event.type) {
      case 'run-start':
        return [chunk({ role: 'assistant', content: '' })];
      case 'reasoning-chunk':
        if (event.kind === 'thinking') return [chunk({ reasoning_content: event.delta })];
        break;
      case 'summary-chunk':
        break;
      case 'error':
        return [toOpenAiError(event.error)];
      case 'run-end': {
        if (event.result.reason === 'error') return [];
        const { result } = event;
        const calls = externalCalls(result);
        const chunks = options.wholeText && result.text ? [chunk({ content: result.text })] : [];
        if (calls.length) chunks.push(chunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) }));
        chunks.push(chunk({}, finishReason(result)));
        return options.includeUsage ? [...chunks, { ...chunk({}), choices: [], usage: toWireUsage(result.usage) }] : chunks;
      }
      default:
        return [];
    }
    if (options.wholeText) return [];
    const apart = wrote && wrote.iteration !== event.iteration ? '\n\n' : '';
    wrote = event;
    return [chunk({ content: apart + event.delta })];
  };

  return {
    encode: (batch) => {
      const chunks: (ChatCompletionChunk | OpenAiError)[] = [];
      // What an agent that is called as a tool says goes to its caller, not to the reader.
      const own = batch.filter(({ agentPath }) => agentPath.length < 2);
      for (const event of own) for (const one of encode(event)) pushJoined(chunks, one);
      return chunks;
    },
  };
}

/** The whole answer of a call that has ended: the text of its last reply, and the external calls it waits for. */
export function toChatCompletion(result: AgentResult, options: OpenAiEncoderOptions): ChatCompletion {
  const { id, created, model } = options;
  const calls = externalCalls(result);
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: result.text || (calls.length ? null : ''),
          refusal: null,
          ...(calls.length && { tool_calls: calls }),
        },
        finish_reason: finishReason(result),
        logprobs: null,
      },
    ],
    usage: toWireUsage(result.usage),
  };
}

export function toOpenAiError(error: { readonly code: string; readonly message: string }): OpenAiError {
  const { code, message } = error;
  return { error: { message, type: code.startsWith('MODEL_') ? 'api_error' : 'invalid_request_error', code, param: null } };
}

type Delta = ChatCompletionChunk['choices'][number]['delta'];

function pushJoined(chunks: (ChatCompletionChunk | OpenAiError)[], chunk: ChatCompletionChunk | OpenAiError): void {
  const last = contentOf(chunks.at(-1));
  const next = contentOf(chunk);
  if (last === undefined || next === undefined || !('choices' in chunk)) chunks.push(chunk);
  else chunks[chunks.length - 1] = { ...chunk, choices: [{ ...chunk.choices[0]!, delta: { content: last + next } }] };
}

/** The content of a chunk that has nothing else. */
function contentOf(chunk: ChatCompletionChunk | OpenAiError | undefined): string | undefined {
  const delta = chunk && 'choices' in chunk ? chunk.choices[0]?.delta : undefined;
  return delta?.role === undefined ? delta?.content : undefined;
}

/** Calls that wait for a result from outside. */
function externalCalls({ pending }: AgentResult): readonly ChatCompletionToolCall[] {
  return pending
    .filter(({ kind }) => kind === 'external')
    .map(({ toolUseId: id, name, input }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }));
}

function finishReason(result: AgentResult): ChatCompletionFinish {
  if (externalCalls(result).length) return 'tool_calls';
  if (result.reason === 'rejected') return 'content_filter';
  return result.message.metadata?.['finishReason'] === 'length' ? 'length' : 'stop';
}

function toWireUsage({ inputTokens, outputTokens }: Usage): ChatCompletionUsage {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}
