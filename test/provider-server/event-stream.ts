import type { ServerResponse } from 'node:http';

export interface Delta {
  readonly role?: 'assistant';
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly index: number;
    readonly id?: string;
    readonly type?: 'function';
    readonly function: { readonly name?: string; readonly arguments?: string };
  }[];
}

export const done = 'data: [DONE]\n\n';

export function openEventStream(response: ServerResponse): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  response.socket?.setNoDelay(true);
  response.flushHeaders();
}

export function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function chunk(
  model: string,
  delta: Delta,
  finishReason: string | null = null,
): Record<string, unknown> {
  return {
    id: 'chatcmpl-provider-server',
    object: 'chat.completion.chunk',
    created: 1_770_000_000,
    model,
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  };
}

export function usageChunk(
  model: string,
  promptTokens: number,
  completionTokens: number,
): Record<string, unknown> {
  return { ...chunk(model, {}), choices: [], usage: usage(promptTokens, completionTokens) };
}

export function usage(promptTokens: number, completionTokens: number): Record<string, number> {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

/**
 * Returns the events of a streamed answer: one event per piece, then the finish reason, the usage
 * and `[DONE]`.
 */
export function textEvents(model: string, pieces: readonly string[]): string[] {
  return [
    event(chunk(model, { role: 'assistant', content: '' })),
    ...pieces.map((content) => event(chunk(model, { content }))),
    event(chunk(model, {}, 'stop')),
    event(usageChunk(model, 10, pieces.length)),
    done,
  ];
}

/** Returns an answer that is not streamed, as a JSON body. */
export function completion(model: string, text: string): Record<string, unknown> {
  return {
    id: 'chatcmpl-provider-server',
    object: 'chat.completion',
    created: 1_770_000_000,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: usage(10, 2),
  };
}

/**
 * Writes bytes, and waits while the socket's buffer is full. Otherwise large streams would fill the
 * memory.
 */
export async function write(response: ServerResponse, bytes: string | Uint8Array): Promise<void> {
  if (response.destroyed || response.write(bytes)) return;
  await new Promise<void>((resolve) => {
    response.once('drain', resolve);
    response.once('close', resolve);
  });
}

/**
 * Writes each piece in a new turn of the event loop, so that the client usually reads each piece
 * separately.
 */
export async function writePieces(
  response: ServerResponse,
  pieces: Iterable<string | Uint8Array>,
): Promise<void> {
  for (const piece of pieces) {
    await write(response, piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
