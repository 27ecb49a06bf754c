import { checkFields } from '../error/options/check-fields.ts';
import { AgentError } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { array, object, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { JsonValue } from '../message/json.ts';
import { abortable } from '../wait/abort.ts';
import type {
  ChatModel,
  ModelDelta,
  ModelFeatures,
  ModelRequest,
  Usage,
} from '../model/chat-model.ts';

/** Tool call of a scripted reply. */
export interface ScriptedToolCall {
  readonly name: string;
  /**
   * Arguments of the tool call. A string is sent unchanged, to test invalid JSON. Default: `{}`.
   */
  readonly input?: JsonValue;
  /**
   * Id of the tool call. Default: `call_<n>`, where `n` counts the tool calls of the model from 1.
   */
  readonly id?: string;
}

/** Part of a scripted reply. */
export interface ScriptedStep {
  /**
   * Promise to await before the step's output, or a function that gets the request's signal and
   * returns such a promise. An abort ends the wait.
   */
  readonly wait?: PromiseLike<unknown> | ((signal: AbortSignal) => PromiseLike<unknown>);
  readonly thinking?: string;
  /** Text of the reply, streamed as one delta per word. */
  readonly text?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Deltas that replace `thinking`, `text` and `toolCalls`, one array per network read. */
  readonly deltas?: readonly (readonly ModelDelta[])[];
  /** Error that the model throws after the step's output. */
  readonly error?: unknown;
  /** Whether the step waits after its output until the request is aborted. Default: false. */
  readonly hang?: boolean;
  /**
   * Usage of the reply. If several steps have a usage, the last one counts. Default: 10 input
   * tokens and 5 output tokens.
   */
  readonly usage?: Usage;
}

type ReplyScript = string | ScriptedStep | readonly ScriptedStep[];

/**
 * One reply: a text, one step, several steps in order, or a function that returns one of these for
 * the request.
 */
export type ScriptedReply = ReplyScript | ((request: ModelRequest) => ReplyScript);

/** Name and features of a `ScriptedModel`. */
export interface ScriptedModelOptions {
  readonly features?: Partial<ModelFeatures>;
  readonly modelId?: string;
}

/**
 * Model for tests that sends scripted replies, one per request. Throws `MODEL_SERVER` if a request
 * comes after the last reply.
 */
export class ScriptedModel implements ChatModel {
  readonly provider = 'scripted';
  readonly modelId: string;
  readonly features: ModelFeatures;
  /** All requests so far, in order. */
  readonly requests: ModelRequest[] = [];
  /**
   * Number of network reads so far, over all requests. The number must not grow after the reader
   * stops.
   */
  reads = 0;
  readonly #replies: readonly ScriptedReply[];
  #calls = 0;

  constructor(replies: readonly ScriptedReply[], options: ScriptedModelOptions = {}) {
    checkFields('ScriptedModel', { replies }, { replies: array });
    this.#replies = replies;
    checkOptions('ScriptedModel', options, scriptedModelOptions);
    this.modelId = options.modelId ?? 'scripted';
    this.features = { tools: true, media: ['image'], ...options.features };
  }

  /**
   * Throws if the number of requests differs from the number of replies. Call it at the end of a
   * test.
   */
  assertDone(): void {
    const replies = this.#replies.length;
    const requests = this.requests.length;
    if (requests === replies) return;
    throw new Error(`Replies in the script: ${replies}. Requests: ${requests}.`);
  }

  async *stream(
    request: ModelRequest,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelDelta[]> {
    const reply = this.#replies[this.requests.length];
    this.requests.push(request);
    if (reply === undefined) {
      const message = `The script has no reply for request ${this.requests.length}.`;
      throw new AgentError('MODEL_SERVER', message);
    }
    const steps = toSteps(typeof reply === 'function' ? reply(request) : reply);
    const callCounter = { count: 0 };
    for (const step of steps) {
      const { wait } = step;
      if (wait) await unlessAborted(typeof wait === 'function' ? wait(signal) : wait, signal);
      for (const deltas of step.deltas ?? this.#deltas(step, callCounter)) {
        throwIfAborted(signal);
        this.reads += 1;
        yield deltas;
      }
      if (step.error !== undefined) throw step.error;
      if (step.hang) await unlessAborted(new Promise(() => {}), signal);
    }
    if (steps.at(-1)?.deltas) return;
    const { usage = { inputTokens: 10, outputTokens: 5 } } =
      steps.findLast((step) => step.usage) ?? {};
    yield [{ type: 'finish', reason: callCounter.count ? 'tool_calls' : 'stop', usage }];
  }

  *#deltas(step: ScriptedStep, callCounter: { count: number }): Generator<readonly ModelDelta[]> {
    for (const delta of words(step.thinking)) yield [{ type: 'thinking', id: 'thinking', delta }];
    for (const delta of words(step.text)) yield [{ type: 'text', id: 'text', delta }];
    const deltas = (step.toolCalls ?? []).map(({ name, input = {}, id }): ModelDelta => {
      const delta = typeof input === 'string' ? input : JSON.stringify(input);
      const index = callCounter.count++;
      return { type: 'tool-input', index, id: id ?? `call_${++this.#calls}`, name, delta };
    });
    if (deltas.length) yield deltas;
  }
}

const scriptedModelOptions: OptionTable<ScriptedModelOptions> = {
  features: optional(object),
  modelId: optional(string),
};

function toSteps(reply: ReplyScript): readonly ScriptedStep[] {
  if (typeof reply === 'string') return [{ text: reply }];
  return 'length' in reply ? reply : [reply];
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw AgentError.from(signal.reason, 'ABORTED');
}

async function unlessAborted(work: PromiseLike<unknown>, signal: AbortSignal): Promise<void> {
  await abortable(Promise.resolve(work), signal).finally(() => throwIfAborted(signal));
}

function words(text = ''): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}
