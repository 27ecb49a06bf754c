import { messageIdOf } from '@isoloop/core/host';
import type { AgentEvent, AgentResult, EventBatch, PendingCall, Usage } from '@isoloop/core';
import { toOpenAiError, type OpenAiError } from '@isoloop/edge/api';
import { thinkingOf } from '@isoloop/core/message';
import { finishWords } from './finish-words.ts';
import { arePending, argumentsText, externalCalls, withdrawnCallError } from './external-calls.ts';

export interface OpenAiEncoderOptions {
  /** Name of the model, as in the client's request. */
  readonly model: string;
  /** Id of the completion, `chatcmpl-…`. */
  readonly id: string;
  /** Time of creation in seconds since 1970. */
  readonly created: number;
  /**
   * Whether the last chunk contains the token counts (`stream_options.include_usage`). Default:
   * false.
   */
  readonly includeUsage?: boolean;
  /** Whether to show the model's thinking, as `reasoning_content`. Default: true. */
  readonly reasoning?: boolean;
  /**
   * Whether the text is sent as one chunk at the end. Use it for answers such as JSON, where the
   * text of failed attempts must not be sent. Default: false.
   */
  readonly sendsWholeText?: boolean;
  /**
   * Returns whether a tool is external. The arguments of external tool calls are then sent while
   * the model writes them, and cannot be taken back. The stream ends with an error if a hook or a
   * person changes such a tool call, or a limit rejects it. Default: tool calls are sent as a
   * whole, at the end.
   */
  readonly isExternal?: (name: string) => boolean;
}

/** A call of one of the client's own tools. */
interface ChatCompletionToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A piece of a tool call. The first piece has the id and the name. */
interface ChatCompletionToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function: { readonly name?: string; readonly arguments: string };
}

/** `length`: the answer is not whole. */
type ChatCompletionFinish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

interface ChatCompletionUsage {
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
      readonly tool_calls?: readonly ChatCompletionToolCallDelta[];
    };
    readonly finish_reason: ChatCompletionFinish | null;
    readonly logprobs: null;
  }[];
  readonly usage?: ChatCompletionUsage;
}

interface ChatCompletion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    readonly message: {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly reasoning_content?: string;
      readonly refusal: null;
      readonly tool_calls?: readonly ChatCompletionToolCall[];
    };
    readonly finish_reason: ChatCompletionFinish;
    readonly logprobs: null;
  }[];
  readonly usage: ChatCompletionUsage;
}

interface OpenAiEncoder {
  encode(batch: EventBatch): readonly (ChatCompletionChunk | OpenAiError)[];
}

/**
 * Creates an encoder that converts agent events to chat-completion chunks and joins adjacent
 * deltas. Use one encoder per run. Tool calls that the agent runs itself are not sent. External
 * tool calls end the run and become `tool_calls`. A blank line separates the texts of several
 * replies, and also their thinking. It separates the text of an interrupt from the reply that it
 * ended, too. If a hook causes a `step-reset`, text that was already sent stays.
 */
export function createOpenAiEncoder(options: OpenAiEncoderOptions): OpenAiEncoder {
  const encoder = new Encoder(options);
  return {
    encode: (batch) => {
      const chunks: (ChatCompletionChunk | OpenAiError)[] = [];
      // The output of an agent that runs as a tool is for the calling agent, not for the reader.
      const agentEvents = batch.filter(({ agentPath }) => agentPath.length < 2);
      for (const event of agentEvents)
        for (const one of encoder.encode(event)) pushJoined(chunks, one);
      return chunks;
    },
  };
}

class Encoder {
  readonly #options: OpenAiEncoderOptions;
  readonly #beforeText = separator();
  readonly #beforeThinking = separator();
  /** Arguments that were sent so far, by the id of the tool call. */
  readonly #sentArguments: Map<string, string> = new Map();

  constructor(options: OpenAiEncoderOptions) {
    this.#options = options;
  }

  encode(event: AgentEvent): readonly (ChatCompletionChunk | OpenAiError)[] {
    const { reasoning = true, isExternal } = this.#options;
    switch (event.type) {
      case 'run-start':
        return [this.#chunk({ role: 'assistant', content: '' })];
      case 'reasoning-chunk':
        if (event.kind === 'text') return this.#text(event.blockId, event.delta);
        return reasoning
          ? [this.#chunk({ reasoning_content: this.#beforeThinking(event.blockId) + event.delta })]
          : [];
      case 'summary-chunk':
        return this.#text(event.blockId, event.delta);
      case 'tool-input-chunk':
        return isExternal?.(event.name)
          ? [this.#toolInput(event.toolUseId, event.name, event.delta)]
          : [];
      case 'error':
        return [toOpenAiError(event.error)];
      case 'run-end':
        return event.result.reason === 'error' ? [] : this.#end(event.result);
      default:
        return [];
    }
  }

  #text(blockId: string, delta: string): readonly ChatCompletionChunk[] {
    return this.#options.sendsWholeText
      ? []
      : [this.#chunk({ content: this.#beforeText(messageIdOf(blockId)) + delta })];
  }

  #toolInput(toolUseId: string, name: string, delta: string): ChatCompletionChunk {
    const sentText = this.#sentArguments.get(toolUseId);
    this.#sentArguments.set(toolUseId, (sentText ?? '') + delta);
    const index = [...this.#sentArguments.keys()].indexOf(toolUseId);
    const firstChunk = {
      index,
      id: toolUseId,
      type: 'function',
      function: { name, arguments: delta },
    } as const;
    return this.#chunk({
      tool_calls: [sentText === undefined ? firstChunk : { index, function: { arguments: delta } }],
    });
  }

  #end(result: AgentResult): readonly (ChatCompletionChunk | OpenAiError)[] {
    const { sendsWholeText, includeUsage } = this.#options;
    const sentArguments = this.#sentArguments;
    const calls = externalCalls(result);
    if (!arePending(calls, sentArguments)) return [toOpenAiError(withdrawnCallError)];
    const chunks = sendsWholeText && result.text ? [this.#chunk({ content: result.text })] : [];
    // A model may write no arguments for a tool without parameters, but the client expects JSON.
    for (const [toolUseId, text] of sentArguments)
      if (!text.trim()) chunks.push(this.#toolInput(toolUseId, '', '{}'));
    const unsentCalls = calls.filter((call) => !sentArguments.has(call.toolUseId)).map(toToolCall);
    if (unsentCalls.length)
      chunks.push(
        this.#chunk({
          tool_calls: unsentCalls.map((call, index) => ({
            index: sentArguments.size + index,
            ...call,
          })),
        }),
      );
    chunks.push(this.#chunk({}, finishWords(result).chat));
    return includeUsage
      ? [...chunks, { ...this.#chunk({}), choices: [], usage: toWireUsage(result.usage) }]
      : chunks;
  }

  #chunk(delta: Delta, finish: ChatCompletionFinish | null = null): ChatCompletionChunk {
    const { id, created, model } = this.#options;
    return {
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
    };
  }
}

/**
 * Returns the completion for an agent call that has ended. It contains the text and the thinking of
 * the last reply, and the pending external tool calls.
 */
export function toChatCompletion(
  result: AgentResult,
  options: OpenAiEncoderOptions,
): ChatCompletion {
  const { id, created, model, reasoning = true } = options;
  const calls = externalCalls(result).map(toToolCall);
  const thinking = reasoning ? thinkingOf(result.message).join('\n\n') : '';
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
          ...(thinking && { reasoning_content: thinking }),
          refusal: null,
          ...(calls.length && { tool_calls: calls }),
        },
        finish_reason: finishWords(result).chat,
        logprobs: null,
      },
    ],
    usage: toWireUsage(result.usage),
  };
}

/**
 * Returns a function that gets the id of each text in order. It returns a blank line if the id has
 * changed, and an empty string otherwise.
 */
function separator(): (id: string) => string {
  let lastId: string | undefined;
  return (id) => {
    const blank = lastId !== undefined && lastId !== id ? '\n\n' : '';
    lastId = id;
    return blank;
  };
}

type Delta = ChatCompletionChunk['choices'][number]['delta'];

function pushJoined(
  chunks: (ChatCompletionChunk | OpenAiError)[],
  chunk: ChatCompletionChunk | OpenAiError,
): void {
  const delta = joinDeltas(deltaOf(chunks.at(-1)), deltaOf(chunk));
  if (delta && 'choices' in chunk)
    chunks[chunks.length - 1] = { ...chunk, choices: [{ ...chunk.choices[0]!, delta }] };
  else chunks.push(chunk);
}

function joinDeltas(lastDelta: Delta | undefined, nextDelta: Delta | undefined): Delta | undefined {
  if (!lastDelta || !nextDelta || lastDelta.role !== undefined) return undefined;
  if (lastDelta.content !== undefined && nextDelta.content !== undefined)
    return { content: lastDelta.content + nextDelta.content };
  const [call, nextCall] = [lastDelta.tool_calls?.[0], nextDelta.tool_calls?.[0]];
  if (!call || !nextCall || call.index !== nextCall.index || nextCall.id !== undefined)
    return undefined;
  return {
    tool_calls: [
      {
        ...call,
        function: {
          ...call.function,
          arguments: call.function.arguments + nextCall.function.arguments,
        },
      },
    ],
  };
}

function deltaOf(chunk: ChatCompletionChunk | OpenAiError | undefined): Delta | undefined {
  return chunk && 'choices' in chunk && chunk.choices[0]?.finish_reason === null
    ? chunk.choices[0].delta
    : undefined;
}

function toToolCall(call: PendingCall): ChatCompletionToolCall {
  const { toolUseId: id, name } = call;
  return { id, type: 'function', function: { name, arguments: argumentsText(call) } };
}

function toWireUsage({ inputTokens, outputTokens }: Usage): ChatCompletionUsage {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}
