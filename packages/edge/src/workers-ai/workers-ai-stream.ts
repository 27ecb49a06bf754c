/**
 * Converts replies of Workers AI to an event stream of chat-completion chunks. In its own format,
 * Workers AI sends `{ response, tool_calls, usage }` in each event, or as the whole reply without
 * streaming. Replies with `choices` are already chat completions and stay unchanged.
 */
export function toChunks(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const state: State = { callCount: 0 };
  let rest = '';
  let isStream = false;
  const take = (line: string): string => {
    const data = /^data: ?(.*)$/.exec(line.trimEnd())?.[1];
    if (data === undefined) return '';
    isStream = true;
    return `data: ${data.startsWith('[DONE]') ? data : (toChunk(data, state) ?? data)}\n\n`;
  };
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        rest += decoder.decode(bytes, { stream: true });
        const end = rest.lastIndexOf('\n') + 1;
        if (!end || (!isStream && /^\s*\{/.test(rest))) return;
        const text = rest.slice(0, end).split('\n').map(take).join('');
        rest = rest.slice(end);
        if (text) controller.enqueue(encoder.encode(text));
      },
      flush(controller) {
        rest += decoder.decode();
        const completeReply = isStream ? undefined : toChunk(rest, { ...state, isWhole: true });
        const text =
          completeReply === undefined
            ? take(rest) || rest.trim()
            : `data: ${completeReply}\n\ndata: [DONE]\n\n`;
        if (text) controller.enqueue(encoder.encode(text));
      },
    }),
  );
}

interface State {
  /**
   * Number of tool calls so far. Tool calls in Workers AI's own format have no index, so this
   * number becomes the index.
   */
  callCount: number;
  /** Whether the reply comes in one piece. */
  isWhole?: boolean;
}

interface NativeChunk {
  readonly response?: unknown;
  readonly tool_calls?: readonly (NativeCall | null)[] | null;
  readonly usage?: object | null;
  readonly finish_reason?: string | null;
}

interface NativeCall {
  readonly id?: string | null;
  readonly index?: number | null;
  readonly name?: string | null;
  readonly arguments?: unknown;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
}

/**
 * Converts the data of one event. Returns `undefined` if the data has another format. The caller
 * then forwards the data unchanged, so that `openai()` reports the error.
 */
function toChunk(data: string, state: State): string | undefined {
  let chunk: NativeChunk & { readonly choices?: unknown; readonly result?: unknown };
  try {
    chunk = Object(JSON.parse(data));
  } catch {
    return undefined;
  }
  // Raw responses may have the envelope of Cloudflare's REST API.
  if (chunk.result && !('response' in chunk) && !('choices' in chunk)) chunk = Object(chunk.result);
  if ('choices' in chunk) return JSON.stringify(chunk);
  if (!('response' in chunk) && !('tool_calls' in chunk) && !('usage' in chunk)) return undefined;
  const { response, tool_calls: calls, usage, finish_reason: finish } = chunk;
  const tools = (calls ?? []).flatMap((call) => (call ? toCall(call, state) : []));
  const delta = {
    ...(response != null && response !== '' && { content: textOf(response) }),
    ...(tools.length && { tool_calls: tools }),
  };
  const choice = { index: 0, delta, finish_reason: finish ?? assumedReason(chunk, state) };
  return JSON.stringify({ choices: [choice], ...(usage && { usage }) });
}

/**
 * Returns the finish reason of an event. The own format of Workers AI has none. The event with the
 * usage is the last one of a whole reply.
 */
function assumedReason({ usage }: NativeChunk, { callCount, isWhole }: State): string | null {
  if (!usage && !isWhole) return null;
  return callCount ? 'tool_calls' : 'stop';
}

/** Returns an answer, or arguments, as text. An object becomes JSON text. */
function textOf(response: unknown): string {
  return typeof response === 'string' ? response : JSON.stringify(response);
}

function toCall(call: NativeCall, state: State): readonly object[] {
  const name = call.function?.name ?? call.name;
  const args = call.function?.arguments ?? call.arguments;
  // An empty fragment marks the end of a tool call.
  if (!name && !call.id && (args == null || args === '')) return [];
  if (name) state.callCount += 1;
  const text = args == null ? '' : textOf(args);
  const index = call.index ?? Math.max(0, state.callCount - 1);
  return [
    {
      index,
      ...(name && { id: call.id ?? crypto.randomUUID() }),
      function: { ...(name && { name }), arguments: text },
    },
  ];
}
