import type { UiChunk, UIMessage } from '@isoloop/core/stream';
import type { AgentLink, AnswerBatches, AnswerRequest, LinkedAgent } from '@isoloop/core/host';

type Step = readonly UiChunk[] | Error | undefined;

/** Source of a chat whose answers the test sends batch by batch. */
export class HeldSource implements LinkedAgent {
  readonly place: object = this;
  readonly options: unknown = undefined;
  readonly requests: AnswerRequest[] = [];
  history: readonly UIMessage[] = [];
  /** Thrown by each request for the history. Default: none. */
  failure: Error | undefined;
  /** Makes the chat look for changes of other pages. */
  look = (): void => {};
  /** Stops the answer. Resolves to whether its stream then ends by itself. */
  stop: AgentLink['stop'] = async () => false;
  /** Number of times that a chat has read the history. */
  reads = 0;
  readonly #key: string = crypto.randomUUID();
  readonly #steps: Step[] = [];
  #wake = (): void => {};

  run(): never {
    throw new Error('It runs nothing.');
  }

  link(): AgentLink {
    return {
      send: async (request, signal) => {
        this.requests.push(request);
        return this.#answer(signal);
      },
      reconnect: async () => undefined,
      queuePlace: { storage: 'sessionStorage', key: this.#key },
      history: async () => {
        this.reads += 1;
        if (this.failure) throw this.failure;
        return structuredClone(this.history);
      },
      outlivesPage: true,
      sessions: () => Promise.reject(new Error('There are none.')),
      watch: (listener) => {
        this.look = listener;
      },
      stop: (signal) => this.stop(signal),
      close: () => {},
    };
  }

  /** Sends a batch of the answer. */
  batch(...chunks: readonly UiChunk[]): void {
    this.#step(chunks);
  }

  /** Ends the answer, or breaks it off with an error. */
  end(error?: Error): void {
    this.#step(error);
  }

  #step(step: Step): void {
    this.#steps.push(step);
    this.#wake();
  }

  async *#answer(signal: AbortSignal): AnswerBatches {
    const stop = (): void => this.#wake();
    signal.addEventListener('abort', stop);
    while (!signal.aborted) {
      if (!this.#steps.length) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (!this.#steps.length) continue;
      const step = this.#steps.shift();
      if (step instanceof Error) throw step;
      if (!step) return;
      yield step;
    }
  }
}

/** Chunks that begin an answer with an open text. */
export function beginning(id: string): readonly UiChunk[] {
  return [
    { type: 'start', messageId: id },
    { type: 'start-step' },
    { type: 'text-start', id: 't' },
  ];
}

export function delta(text: string, id = 't'): UiChunk {
  return { type: 'text-delta', id, delta: text };
}
