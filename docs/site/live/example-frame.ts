import type { Connection } from '../../../demo/src/page/test-connection.ts';
import { labels } from './labels.ts';
import type { FrameReport, FrameRequest, LiveMessage } from './live-message.ts';

/** Time until the frame's script has to listen, in milliseconds. */
const openLimitMs = 15_000;

// Vite would take an address that is made of `import.meta.url` for a file of the build.
const here: string = import.meta.url;

/** Reads a file of the live examples, such as `origin.json`. */
export async function readLiveFile(file: string): Promise<unknown> {
  return (await fetch(new URL(file, here))).json();
}

let reading: Promise<string | undefined> | undefined;

/**
 * Returns the origin in which programs run, or `undefined` if this server has none. It must not be
 * the origin of the page, because readers edit the programs.
 */
export function liveOrigin(): Promise<string | undefined> {
  reading ??= readLiveFile('origin.json').then((file) => {
    const { origin } = file as { readonly origin?: string };
    return origin === location.origin ? undefined : origin;
  });
  return reading;
}

/** The frame in which the programs of an example run. */
export interface ExampleFrame {
  /** Server to which its programs may connect. */
  readonly server: string | undefined;
  post(request: FrameRequest): void;
  /** Asks the server for its models. */
  test(baseURL: string, apiKey: string): Promise<Connection>;
  close(): void;
}

export interface ExampleFrameOptions {
  /** Where the frame is added. */
  readonly parent: HTMLElement;
  /** Origin of the only server to which programs may connect. Default: none. */
  readonly server: string | undefined;
  readonly onMessage: (run: number, message: LiveMessage) => void;
}

/** Opens a frame on its own origin, and waits until its script listens. */
export async function openFrame({
  parent,
  server,
  onMessage,
}: ExampleFrameOptions): Promise<ExampleFrame> {
  const origin = await liveOrigin();
  if (origin === undefined) throw new Error(labels.readOnly);
  const frame = document.createElement('iframe');
  frame.title = labels.frame;
  frame.hidden = true;
  frame.allow = 'language-model'; // the browser's own model
  // Without an origin, a worker is no secure context and has no `crypto`. So the frame keeps its
  // origin, which is another one than that of the page.
  frame.setAttribute('sandbox', 'allow-scripts allow-same-origin');
  const address = new URL(new URL('frame.html', here).pathname, origin);
  if (server !== undefined) address.searchParams.set('connect', server);
  frame.src = address.href;
  const listening = new AbortController();
  const post = (request: FrameRequest): void => frame.contentWindow?.postMessage(request, origin);
  let onTested: (connection: Connection) => void = () => {};
  const test = (baseURL: string, apiKey: string): Promise<Connection> => {
    post({ type: 'test', baseURL, apiKey });
    return new Promise((resolve) => (onTested = resolve));
  };
  const close = (): void => {
    listening.abort();
    frame.remove();
  };
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      close();
      reject(new Error(`${address.href} does not answer.`));
    }, openLimitMs);
    addEventListener(
      'message',
      ({ source, data }: MessageEvent<FrameReport>) => {
        if (source !== frame.contentWindow) return;
        if (data.type === 'report') onMessage(data.id, data.message);
        if (data.type === 'tested') onTested(data.connection);
        if (data.type !== 'ready') return;
        clearTimeout(timer);
        resolve({ server, post, test, close });
      },
      { signal: listening.signal },
    );
    parent.append(frame);
  });
}
