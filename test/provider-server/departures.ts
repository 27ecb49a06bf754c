import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from './exchange.ts';

interface Outcome {
  readonly departed: Promise<boolean>;
  readonly settle: (departed: boolean) => void;
}

/**
 * Tells a test that its client hung up: `GET /departed/KEY` answers `{ departed }` once the request with the header
 * `x-test-key: KEY` has ended: true where its connection was closed before the answer's end.
 */
export class Departures {
  readonly #outcomes = new Map<string, Outcome>();

  watch(request: IncomingMessage, response: ServerResponse): void {
    const key = request.headers['x-test-key'];
    if (typeof key !== 'string') return;
    response.once('close', () => this.#outcome(key).settle(!response.writableFinished));
  }

  async answer(key: string, response: ServerResponse): Promise<void> {
    const departed = await this.#outcome(key).departed;
    this.#outcomes.delete(key);
    sendJson(response, 200, { departed });
  }

  #outcome(key: string): Outcome {
    const known = this.#outcomes.get(key);
    if (known) return known;
    let settle: Outcome['settle'] = () => undefined;
    const departed = new Promise<boolean>((resolve) => (settle = resolve));
    const outcome = { departed, settle };
    this.#outcomes.set(key, outcome);
    return outcome;
  }
}
