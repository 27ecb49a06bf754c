import type { ChosenModel } from './chosen-model.ts';
import type { FrameReport, FrameRequest, LiveMessage } from './live-message.ts';
import { textOfValue } from './text-of-value.ts';
import { workerText } from './worker-text.ts';

// The script of the frame in which edited code runs. The frame has an origin of its own, and its
// policy allows no connections. The code arrives from the page that shows the frame.

const base = new URL('lib/', location.href).href;
let worker: Worker | undefined;

addEventListener('message', ({ source, data }: MessageEvent<FrameRequest>) => {
  if (source !== parent) return;
  worker?.terminate();
  worker = undefined;
  if (data.type === 'run') void run(data);
});
tell({ type: 'ready' });

async function run({ id, program, model }: Extract<FrameRequest, { type: 'run' }>): Promise<void> {
  const report = (message: LiveMessage): void => tell({ type: 'report', id, message });
  try {
    const { stripTypes } = await import('./strip-types.ts');
    const text = workerText(program, base, stripTypes);
    const started = new Worker(addressOf(loaderOf(text, model)));
    worker = started;
    started.addEventListener('message', ({ data }: MessageEvent<LiveMessage>) => report(data));
    started.addEventListener('error', (event) => {
      event.preventDefault();
      report({ type: 'error', text: event.message || 'The program could not be loaded.' });
    });
  } catch (error) {
    report({ type: 'error', text: textOfValue(error) });
  }
}

/** Returns the script of a worker that loads a module, and tells why if it fails. */
function loaderOf(module: string, model: ChosenModel | undefined): string {
  const blob = `new Blob([${JSON.stringify(module)}], { type: 'text/javascript' })`;
  const report = `(error) => postMessage({ type: 'error', text: [error?.code, error].filter(Boolean).join(' ') })`;
  const chosen = model ? `globalThis.liveModel = ${JSON.stringify(model)};` : '';
  return `${chosen}import(URL.createObjectURL(${blob})).catch(${report});`;
}

function addressOf(script: string): string {
  return URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
}

function tell(report: FrameReport): void {
  parent.postMessage(report, '*');
}
