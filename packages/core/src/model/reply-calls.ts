import { AgentError } from '../error/agent-error.ts';
import { isWholeObject } from '../message/json/parse-json.ts';
import type { ModelDelta } from './chat-model.ts';

/** Collects the tool calls of a reply, to find a reply that was cut. */
export class ReplyCalls {
  readonly #inputs: Map<number, string> = new Map();
  #isFinished = false;

  add(deltas: readonly ModelDelta[]): void {
    for (const delta of deltas) {
      if (delta.type === 'reset') this.#inputs.clear();
      else if (delta.type === 'finish') this.#isFinished = true;
      else if (delta.type === 'tool-input')
        this.#inputs.set(delta.index, (this.#inputs.get(delta.index) ?? '') + delta.delta);
    }
  }

  /**
   * Throws a retryable `MODEL_BAD_RESPONSE` if the reply ended without a `finish` delta and a tool
   * call has empty or incomplete arguments.
   */
  end(): void {
    if (this.#isFinished || [...this.#inputs.values()].every(isWholeObject)) return;
    const message = 'The reply ended early';
    throw new AgentError('MODEL_BAD_RESPONSE', message, { retryable: true });
  }
}
