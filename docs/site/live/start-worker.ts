import './chosen-model.ts';
import type { LiveMessage } from './live-message.ts';
import { textOfValue } from './text-of-value.ts';

// The first import of an example's worker: sends what the example prints and its errors to the
// page.

function send(message: LiveMessage): void {
  postMessage(message);
}

for (const level of ['log', 'info', 'warn', 'error'] as const)
  console[level] = (...values: readonly unknown[]) =>
    send({ type: 'log', text: values.map(textOfValue).join(' ') });

console.assert = (holds?: boolean, ...values: readonly unknown[]) => {
  if (holds) return;
  const text = ['An assertion failed.', ...values.map(textOfValue)].join(' ');
  // A model of the reader replies differently than the script.
  if (globalThis.liveModel) console.log(text);
  else throw new Error(text);
};

addEventListener('unhandledrejection', (event) => {
  event.preventDefault();
  send({ type: 'error', text: textOfValue(event.reason) });
});
