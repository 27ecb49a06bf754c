import { browserModel } from '@isoloop/web-worker';
import { testConnection } from '../../../demo/src/page/test-connection.ts';
import type { ChosenModel } from './chosen-model.ts';
import type { FrameReport, FrameRequest, LiveMessage } from './live-message.ts';
import { serveModel } from './model-port.ts';
import { textOfValue } from './text-of-value.ts';
import { workerText } from './worker-text.ts';

// The script of the frame in which edited code runs. The frame has an origin of its own, and its
// policy allows no connections. The code arrives from the page that shows the frame.

const base = new URL('lib/', location.href).href;
let worker: Worker | undefined;

addEventListener('message', ({ source, data }: MessageEvent<FrameRequest>) => {
  if (source !== parent) return;
  if (data.type === 'test') void test(data);
  else void start(data);
});
tell({ type: 'ready' });

/** Ends the last program, and runs the next one if there is one. */
async function start(request: Exclude<FrameRequest, { type: 'test' }>): Promise<void> {
  worker?.terminate();
  worker = undefined;
  if (request.type === 'run') await run(request);
}

async function test({ baseURL, apiKey }: Extract<FrameRequest, { type: 'test' }>): Promise<void> {
  tell({ type: 'tested', connection: await testConnection(baseURL, apiKey) });
}

async function run({ id, program, model }: Extract<FrameRequest, { type: 'run' }>): Promise<void> {
  const report = (message: LiveMessage): void => tell({ type: 'report', id, message });
  try {
    const { stripTypes } = await import('./strip-types.ts');
    const text = workerText(program, base, stripTypes);
    const started = new Worker(addressOf(loader));
    worker = started;
    started.addEventListener('message', ({ data }: MessageEvent<LiveMessage>) => report(data));
    started.addEventListener('error', (event) => {
      event.preventDefault();
      report({ type: 'error', text: event.message || 'The program could not be loaded.' });
    });
    startProgram(started, text, model);
  } catch (error) {
    report({ type: 'error', text: textOfValue(error) });
  }
}

function startProgram(target: Worker, text: string, model: ChosenModel | undefined): void {
  if (model?.kind !== 'browser') {
    target.postMessage({ text, model });
    return;
  }
  const { port1: port, port2 } = new MessageChannel();
  serveModel(port2, browserModel());
  target.postMessage({ text, model: { ...model, port } }, [port]);
}

/** The script of a worker that gets a module, loads it, and tells why if it fails. */
const loader = `onmessage = ({ data: { text, model } }) => {
  onmessage = null;
  globalThis.liveModel = model;
  const module = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  import(module).catch((error) =>
    postMessage({ type: 'error', text: [error?.code, error].filter(Boolean).join(' ') }),
  );
};`;

function addressOf(script: string): string {
  return URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
}

function tell(report: FrameReport): void {
  parent.postMessage(report, '*');
}
