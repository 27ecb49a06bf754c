import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from './exchange.ts';

interface Visit {
  readonly arrived: Promise<boolean>;
  readonly arrive: (arrived: true) => void;
  readonly departed: Promise<boolean>;
  readonly end: (departed: boolean) => void;
}

/**
 * Tells a test when its request with the header `x-test-key: KEY` arrives and ends. `GET
 * /arrived/KEY` answers when the request has arrived, `GET /departed/KEY` when the request has
 * ended. `{ departed: true }` means that the client closed the connection before the end of the
 * answer.
 */
export class Visits {
  readonly #visits = new Map<string, Visit>();

  watch(request: IncomingMessage, response: ServerResponse): void {
    const key = request.headers['x-test-key'];
    if (typeof key !== 'string') return;
    const visit = this.#visit(key);
    visit.arrive(true);
    response.once('close', () => visit.end(!response.writableFinished));
  }

  async answer(
    question: 'arrived' | 'departed',
    key: string,
    response: ServerResponse,
  ): Promise<void> {
    sendJson(response, 200, { [question]: await this.#visit(key)[question] });
  }

  #visit(key: string): Visit {
    const known = this.#visits.get(key);
    if (known) return known;
    let arrive: Visit['arrive'] = () => undefined;
    let end: Visit['end'] = () => undefined;
    const arrived = new Promise<boolean>((resolve) => (arrive = resolve));
    const departed = new Promise<boolean>((resolve) => (end = resolve));
    const visit = { arrived, arrive, departed, end };
    this.#visits.set(key, visit);
    return visit;
  }
}
