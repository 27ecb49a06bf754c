import type { JsonObject } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';

/** Adds a delta to the reply. */
export type Emit = (delta: ModelDelta) => void;

/**
 * A function call of a reply while it streams. Its deltas wait until its id and its name are known.
 * Some servers send them only with the finished item, or only at the end of the reply.
 */
export class StreamedCall {
  /** Position among the reply's calls. */
  readonly #index: number;
  readonly #emit: Emit;
  arguments = '';
  #isShown = false;
  #metadata: JsonObject | undefined;

  constructor(index: number, emit: Emit) {
    this.#index = index;
    this.#emit = emit;
  }

  add(delta: string): void {
    this.arguments += delta;
    if (this.#isShown && delta) this.#emit({ type: 'tool-input', index: this.#index, delta });
  }

  complete(whole: string): void {
    if (whole.startsWith(this.arguments)) this.add(whole.slice(this.arguments.length));
  }

  /** Adds what a later request needs to send the call back. */
  keep(providerMetadata: JsonObject): void {
    this.#metadata = providerMetadata;
    if (this.#isShown)
      this.#emit({ type: 'tool-input', index: this.#index, delta: '', providerMetadata });
  }

  /** Announces the call, with all that has waited for it. */
  show(id: string, name: string): void {
    if (this.#isShown) return;
    this.#isShown = true;
    this.#emit({
      type: 'tool-input',
      index: this.#index,
      id,
      name,
      delta: this.arguments,
      ...(this.#metadata && { providerMetadata: this.#metadata }),
    });
  }
}
