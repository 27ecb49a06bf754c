import { chatCompletions } from './wire-formats.ts';

const recorded = import.meta.glob<string>('../fixtures/*-streams/*.{txt,sse}', {
  query: '?raw',
  import: 'default',
  eager: true,
});

interface RecordedChunk {
  /** In a stream of the Responses API. */
  readonly type?: string;
  readonly item_id?: string;
  readonly delta?: string;
  readonly choices?: readonly {
    readonly delta?: {
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly function?: { readonly arguments?: string };
      }[];
    };
  }[];
}

/**
 * Returns the objects in the recorded streams: the arguments of tool calls, in the pieces in which
 * the providers sent them.
 */
export function recordedPieces(): readonly (readonly [name: string, pieces: readonly string[]])[] {
  return Object.entries(recorded).flatMap(([path, text]) => {
    const calls: Record<string, string[]> = {};
    for (const [, json] of text.matchAll(/^(?:data: ?)?(\{.*\})$/gm))
      for (const [id, piece] of piecesIn(JSON.parse(json!) as RecordedChunk))
        (calls[id] ??= []).push(piece);
    const name = path.replace(/^.*\//, '');
    return Object.entries(calls).map(([id, pieces]) => [`${name} ${id}`, pieces] as const);
  });
}

function piecesIn({ type, item_id: item, delta, choices }: RecordedChunk): [string, string][] {
  if (type === 'response.function_call_arguments.delta') return [[item!, delta!]];
  const calls = choices?.flatMap(({ delta: made }) => made?.tool_calls ?? []) ?? [];
  return calls.flatMap(({ index, function: called }): [string, string][] =>
    called?.arguments ? [[String(index), called.arguments]] : [],
  );
}

/** Returns a `fetch` whose answer has one network read for each piece of the text. */
export function fetchOfPieces(pieces: readonly string[]): typeof fetch {
  const events = chatCompletions({ text: pieces, finish: 'stop' })!;
  return async () => {
    const left = [...events];
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const event = left.shift();
        if (event === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(event));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
}
