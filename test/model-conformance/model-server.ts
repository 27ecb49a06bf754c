import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../listen-on-loopback.ts';

type Answer = (url: string, init: RequestInit) => Promise<Response>;

/** A server on loopback, whose answers come from functions. */
export interface ModelServer {
  /** Returns a base URL. The function answers its requests. */
  urlFor(answer: Answer): string;
  close(): Promise<void>;
}

export async function startModelServer(): Promise<ModelServer> {
  const answers: Answer[] = [];
  const server = createServer((request, response) => {
    const index = Number(request.url!.split('/')[1]);
    relay(request, response, answers[index]!).catch(() => response.destroy());
  });
  const { url, close } = await listenOnLoopback(server, 0);
  return { urlFor: (answer) => `${url}/${answers.push(answer) - 1}/v1`, close };
}

/** Answers a request. Reads the next piece only after the client has got the one before. */
async function relay(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
): Promise<void> {
  const controller = new AbortController();
  response.on('close', () => controller.abort());
  const body = await text(request);
  const {
    status,
    headers,
    body: reply,
  } = await answer(request.url!, {
    body,
    signal: controller.signal,
  });
  response.writeHead(status, Object.fromEntries(headers));
  response.flushHeaders();
  for await (const piece of reply!)
    await new Promise((resolve) => response.write(piece, () => resolve(undefined)));
  response.end();
}
