import type { Fetch } from '../model/http/http-model.ts';

type Bytes = Uint8Array<ArrayBuffer>;

interface AnsweringOptions {
  /**
   * What follows the last piece: the reply ends, the connection breaks, or nothing. Default:
   * `close`.
   */
  readonly end?: 'close' | 'break' | 'hang';
  /** Status and headers. Default: 200, and the type `text/event-stream`. */
  readonly init?: ResponseInit;
}

/** A `fetch` function that answers each request with the same reply. */
interface AnsweringFetch {
  readonly fetch: Fetch;
  /** Bodies of the requests so far, as text. */
  readonly bodies: readonly string[];
  /** Addresses of the requests so far. */
  readonly urls: readonly string[];
  /** Resolves once the client has read all pieces and waits for more. */
  readonly drained: Promise<void>;
  /** Resolves once the client has left or the reply has ended. */
  readonly ended: Promise<void>;
}

/** Creates a `fetch` function that sends these pieces, one for each read of the client. */
export function answeringFetch(
  pieces: readonly (string | Bytes)[],
  { end = 'close', init = {} }: AnsweringOptions = {},
): AnsweringFetch {
  const bodies: string[] = [];
  const urls: string[] = [];
  const [drained, noteDrained] = createDeferred();
  const [ended, noteEnded] = createDeferred();
  const encoder = new TextEncoder();
  const unread = pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece));
  const source = (next = 0): UnderlyingDefaultSource<Bytes> => ({
    async pull(controller) {
      const piece = unread[next++];
      if (piece) return controller.enqueue(piece);
      noteDrained();
      if (end === 'hang') return new Promise(() => {});
      noteEnded();
      if (end === 'break') controller.error(new TypeError('The connection broke'));
      else controller.close();
    },
    cancel: noteEnded,
  });
  return {
    bodies,
    urls,
    drained,
    ended,
    async fetch(url, { body, signal }) {
      urls.push(url);
      bodies.push(typeof body === 'string' ? body : '');
      signal?.addEventListener('abort', noteEnded);
      const headers = { 'content-type': 'text/event-stream' };
      return new Response(new ReadableStream(source(), { highWaterMark: 0 }), { headers, ...init });
    },
  };
}

function createDeferred(): readonly [happened: Promise<void>, note: () => void] {
  let note!: () => void;
  const happened = new Promise<void>((resolve) => (note = resolve));
  return [happened, () => note()];
}
