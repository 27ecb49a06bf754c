import { AgentError } from '../error/agent-error.ts';
import type { JsonValue } from '../message/json.ts';
import type { ChatModel, ModelDelta, ModelFeatures, ModelRequest } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';

export interface ScriptedToolCall {
  readonly name: string;
  /** Arguments of the call. Default `{}`; a string is sent unchanged, to test invalid JSON. */
  readonly input?: JsonValue;
  /** Id of the call. Default `call_<n>`, counted over the model's life. */
  readonly id?: string;
}

export interface ScriptedStep {
  /**
   * Promise to wait for before the step says anything, or a function that makes one from the
   * request's signal. An abort ends the wait.
   */
  readonly wait?: PromiseLike<unknown> | ((signal: AbortSignal) => PromiseLike<unknown>);
  readonly thinking?: string;
  /** Text of the reply, streamed in one delta per word. */
  readonly text?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Deltas in place of the three fields above, one array per network read. */
  readonly deltas?: readonly (readonly ModelDelta[])[];
  /** Error to throw after the step's output. */
  readonly error?: unknown;
  /** Whether the step then waits until the request is aborted. */
  readonly hang?: boolean;
  /** Usage of the reply. Default 10 in, 5 out; of several steps, the last one's counts. */
  readonly usage?: Usage;
}

type Said = string | ScriptedStep | readonly ScriptedStep[];

/** One reply: its text, its one step, its steps in order, or a function of the request. */
export type ScriptedReply = Said | ((request: ModelRequest) => Said);

export interface ScriptedModelOptions {
  readonly features?: Partial<ModelFeatures>;
  readonly modelId?: string;
}

/**
 * A model for tests that plays a script, one reply per request. It fails if a request finds no
 * reply left.
 */
export class ScriptedModel implements ChatModel {
  readonly provider = 'scripted';
  readonly modelId: string;
  readonly features: ModelFeatures;
  /** Every request so far, in order. */
  readonly requests: ModelRequest[] = [];
  /** Number of network reads so far, over all requests. They must stop when the reader stops. */
  reads = 0;
  readonly #replies: readonly ScriptedReply[];
  #calls = 0;

  constructor(replies: readonly ScriptedReply[], options: ScriptedModelOptions = {}) {
    this.#replies = replies;
    this.modelId = options.modelId ?? 'scripted';
    this.features = { tools: true, media: ['image'], ...options.features };
  }

  /** Throws unless each reply was requested once. For the end of a test. */
  assertDone(): void {
    const replies = this.#replies.length;
    const requests = this.requests.length;
    if (requests === replies) return;
    const difference =
      requests < replies ? `${replies - requests} not asked for` : `${requests} asked for`;
    throw new Error(`The script has ${count(replies, 'reply', 'replies')}: ${difference}.`);
  }

  async *stream(
    request: ModelRequest,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelDelta[]> {
    const reply = this.#replies[this.requests.length];
    this.requests.push(request);
    if (reply === undefined) {
      const replies = count(this.#replies.length, 'reply', 'replies');
      throw new AgentError('MODEL_SERVER', `The script has ${replies}; this was one request more.`);
    }
    const steps = toSteps(typeof reply === 'function' ? reply(request) : reply);
    const calls = { said: 0 };
    for (const step of steps) {
      if (step.wait)
        await unlessAborted(
          typeof step.wait === 'function' ? step.wait(signal) : step.wait,
          signal,
        );
      for (const deltas of step.deltas ?? this.#deltas(step, calls)) {
        signal.throwIfAborted();
        this.reads += 1;
        yield deltas;
      }
      if (step.error !== undefined) throw step.error;
      if (step.hang) await unlessAborted(new Promise(() => {}), signal);
    }
    if (steps.at(-1)?.deltas) return;
    const { usage = { inputTokens: 10, outputTokens: 5 } } =
      steps.findLast((step) => step.usage) ?? {};
    yield [{ type: 'finish', reason: calls.said ? 'tool_calls' : 'stop', usage }];
  }

  *#deltas(step: ScriptedStep, calls: { said: number }): Generator<readonly ModelDelta[]> {
    for (const delta of words(step.thinking)) yield [{ type: 'thinking', id: 'thinking', delta }];
    for (const delta of words(step.text)) yield [{ type: 'text', id: 'text', delta }];
    const deltas = (step.toolCalls ?? []).map(({ name, input = {}, id }): ModelDelta => {
      const delta = typeof input === 'string' ? input : JSON.stringify(input);
      return {
        type: 'tool-input',
        index: calls.said++,
        id: id ?? `call_${++this.#calls}`,
        name,
        delta,
      };
    });
    if (deltas.length) yield deltas;
  }
}

function toSteps(said: Said): readonly ScriptedStep[] {
  if (typeof said === 'string') return [{ text: said }];
  return 'length' in said ? said : [said];
}

async function unlessAborted(wait: PromiseLike<unknown>, signal: AbortSignal): Promise<void> {
  let onAbort!: () => void;
  const aborted = new Promise<never>((_resolve, reject) => (onAbort = () => reject(signal.reason)));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  try {
    await Promise.race([aborted, wait]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function words(text = ''): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}
