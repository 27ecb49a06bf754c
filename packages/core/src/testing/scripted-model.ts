import { AgentError } from '../error/agent-error.ts';
import type { JsonValue } from '../message/json.ts';
import type { ChatModel, ModelDelta, ModelFeatures, ModelRequest } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';

export interface ScriptedToolCall {
  readonly name: string;
  /** Default `{}`; a string goes out as it is, so that bad JSON can be tried. */
  readonly input?: JsonValue;
  /** Default `call_<n>`, counted over the model's life. */
  readonly id?: string;
}

export interface ScriptedStep {
  readonly thinking?: string;
  /** Streamed in one delta a word. */
  readonly text?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Instead of the three above: the deltas themselves, one array a network read. */
  readonly deltas?: readonly (readonly ModelDelta[])[];
  /** Thrown after what the step says. */
  readonly error?: unknown;
  /** Never ends, until the request is aborted. */
  readonly hang?: boolean;
  readonly usage?: Usage;
}

/** One reply: its text, its parts, or a function of the request. */
export type ScriptedReply = string | ScriptedStep | ((request: ModelRequest) => string | ScriptedStep);

export interface ScriptedModelOptions {
  readonly features?: Partial<ModelFeatures>;
  readonly modelId?: string;
}

/** A model that says what it was told, one reply a request; for tests. Asked more often than it has replies, it fails. */
export class ScriptedModel implements ChatModel {
  readonly provider = 'scripted';
  readonly modelId: string;
  readonly features: ModelFeatures;
  /** Every request so far, in order. */
  readonly requests: ModelRequest[] = [];
  /** Network reads handed out so far, over all requests: a reader that stops must stop these. */
  reads = 0;
  readonly #replies: readonly ScriptedReply[];
  #calls = 0;

  constructor(replies: readonly ScriptedReply[], options: ScriptedModelOptions = {}) {
    this.#replies = replies;
    this.modelId = options.modelId ?? 'scripted';
    this.features = { tools: true, media: ['image'], ...options.features };
  }

  async *stream(request: ModelRequest, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<readonly ModelDelta[]> {
    const reply = this.#replies[this.requests.length];
    this.requests.push(request);
    if (reply === undefined)
      throw new AgentError('MODEL_SERVER', `The script has ${this.#replies.length} replies; this was one request more.`);
    const said = typeof reply === 'function' ? reply(request) : reply;
    const step = typeof said === 'string' ? { text: said } : said;
    for (const deltas of step.deltas ?? this.#deltas(step)) {
      signal.throwIfAborted();
      this.reads += 1;
      yield deltas;
    }
    if (step.error !== undefined) throw step.error;
    if (step.hang) await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    if (!step.deltas) yield [finish(step)];
  }

  *#deltas(step: ScriptedStep): Generator<readonly ModelDelta[]> {
    for (const delta of words(step.thinking)) yield [{ type: 'thinking', id: 'thinking', delta }];
    for (const delta of words(step.text)) yield [{ type: 'text', id: 'text', delta }];
    const calls = (step.toolCalls ?? []).map(({ name, input = {}, id }, index): ModelDelta => {
      const delta = typeof input === 'string' ? input : JSON.stringify(input);
      return { type: 'tool-input', index, id: id ?? `call_${++this.#calls}`, name, delta };
    });
    if (calls.length) yield calls;
  }
}

function finish(step: ScriptedStep): ModelDelta {
  return {
    type: 'finish',
    reason: step.toolCalls?.length ? 'tool_calls' : 'stop',
    usage: step.usage ?? { inputTokens: 10, outputTokens: 5 },
  };
}

function words(text = ''): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}
