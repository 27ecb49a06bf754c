import { tool, type Tool } from '@isoloop/core';
import type { Fetch } from '@isoloop/core/model';

interface Generation {
  readonly id: string;
  readonly events: readonly object[];
  cancelled: boolean;
}

type Item = Readonly<Record<string, unknown>>;

const answer = 'It is 東京, as you know.';

function itemEvents(item: Item, deltas: readonly object[]): readonly object[] {
  return [
    { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
    ...deltas.map((delta) => ({ output_index: 0, content_index: 0, ...delta })),
    { type: 'response.output_item.done', output_index: 0, item },
  ];
}

const callEvents = itemEvents(
  { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"a":1}' },
  ['{"a"', ':1}'].map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
);

const textEvents = itemEvents(
  { type: 'message', content: [{ type: 'output_text', text: answer }] },
  ['It is ', '東京', ', as you', ' know.'].map((delta) => ({
    type: 'response.output_text.delta',
    delta,
  })),
);

/**
 * Fakes a provider of the Responses API that writes replies in the background: first a tool call,
 * then an answer.
 */
export class BackgroundProvider {
  readonly answer = answer;
  /** The replies that the provider has begun to write. */
  readonly generations: Generation[] = [];
  /**
   * One text per request that resumes a reply, such as `resp_1 after 3`. The number is the last
   * event that the client has.
   */
  readonly resumed: string[] = [];
  /** Number of events of a reply after which the connection hangs. */
  hold = Infinity;
  /** Same as `hold`, for answers only. */
  holdAnswer = Infinity;
  /** Number of events after which the next connection breaks, once. */
  cut = Infinity;
  /** HTTP statuses with which the provider refuses the next requests that resume a reply. */
  readonly refusals: number[] = [];
  /** Whether a request that resumes a reply gets all its events, whatever number it names. */
  repeatsAll = false;
  /** Whether the events of later replies have numbers. */
  isNumbered = true;
  /** Whether the provider has forgotten all replies and answers 404. */
  isGone = false;

  readonly fetch: Fetch = async (url, init) => {
    const { pathname, searchParams } = new URL(url);
    const id = /responses\/([^/]+)/.exec(pathname)?.[1];
    if (id === undefined) return this.#begin(JSON.parse(init.body as string) as Item, init.signal!);
    const generation = this.generations.find((one) => one.id === id);
    if (!generation || this.isGone) return new Response('{"error":{}}', { status: 404 });
    if (pathname.endsWith('/cancel')) {
      generation.cancelled = true;
      return Response.json({ id, object: 'response', status: 'cancelled' });
    }
    const after = Number(searchParams.get('starting_after'));
    this.resumed.push(`${id} after ${after}`);
    const status = this.refusals.shift();
    if (status !== undefined) return new Response('{"error":{}}', { status });
    if (generation.cancelled)
      return Response.json({ id, object: 'response', status: 'cancelled', output: [] });
    const start = this.repeatsAll ? 0 : after + 1;
    return this.#stream(generation.events.slice(start), init.signal!);
  };

  #begin(body: Item, signal: AbortSignal): Response {
    const isAnswer = JSON.stringify(body['input']).includes('function_call_output');
    const id = `resp_${this.generations.length + 1}`;
    const response = { id, status: 'in_progress' };
    const events = [
      { type: 'response.created', response },
      ...(isAnswer ? textEvents : callEvents),
      { type: 'response.completed', response: { id, status: 'completed', output: [] } },
    ].map((event, index) => ({ ...event, ...(this.isNumbered && { sequence_number: index }) }));
    this.generations.push({ id, events, cancelled: false });
    return this.#stream(events, signal, isAnswer ? this.holdAnswer : Infinity);
  }

  #stream(events: readonly object[], signal: AbortSignal, hold = Infinity): Response {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const event = events[sent++];
        if (!event) return controller.close();
        if (sent > this.cut) {
          this.cut = Infinity;
          return controller.error(new Error('The connection was reset.'));
        }
        if (sent > Math.min(this.hold, hold))
          return new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          });
        controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
        return undefined;
      },
    });
    return new Response(body);
  }
}

/** Number of events of the reply with the tool call. */
export const callLength = callEvents.length + 2;
/** Number of events of the answer. */
export const textLength = textEvents.length + 2;

/** Returns the tool that the provider calls, and the number of times it ran. */
export function lookTool(): { readonly look: Tool; readonly runs: () => number } {
  let runs = 0;
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: { type: 'object' },
    execute: () => {
      runs += 1;
      return '東京';
    },
  });
  return { look, runs: () => runs };
}
