import { heldPlace } from '../src/react/queue/held-place.ts';
import type { AgentEndpoint } from '@isoloop/web-worker/react';
import type { AgentLink } from '../src/react/source/agent-source.ts';
import type { AnswerBatches, AnswerRequest } from '../src/react/chat/chat.ts';
import type { UIMessage } from '../src/react/chat/ui-message.ts';
import type { UIMessageChunk } from '../src/react/chat/ui-message-chunk.ts';

type Step = readonly UIMessageChunk[] | Error | undefined;

/** Source of a chat whose answers the test sends batch by batch. */
export class HeldSource implements AgentEndpoint {
  readonly api: string = crypto.randomUUID();
  readonly requests: AnswerRequest[] = [];
  history: readonly UIMessage[] = [];
  /** Thrown by each request for the history. Default: none. */
  failure: Error | undefined;
  /** Makes the chat look for changes of other pages. */
  look = (): void => {};
  /** Number of times that a chat has read the history. */
  reads = 0;
  readonly #steps: Step[] = [];
  #wake = (): void => {};

  link(): AgentLink {
    return {
      send: async (request, signal) => {
        this.requests.push(request);
        return this.#answer(signal);
      },
      reconnect: async () => undefined,
      heldPlace: heldPlace('sessionStorage', this.api),
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
      stop: async () => false,
      close: () => {},
    };
  }

  /** Sends a batch of the answer. */
  batch(...chunks: readonly UIMessageChunk[]): void {
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
export function beginning(id: string): readonly UIMessageChunk[] {
  return [
    { type: 'start', messageId: id },
    { type: 'start-step' },
    { type: 'text-start', id: 't' },
  ];
}

export function delta(text: string, id = 't'): UIMessageChunk {
  return { type: 'text-delta', id, delta: text };
}
