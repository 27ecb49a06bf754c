import type { Engine } from './check.ts';
import { realClock } from './real-clock.ts';

const { setImmediate, setTimeout } = realClock;

export const nodeEngine: Engine = {
  ...realClock,
  nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
};

export const workerdEngine: Engine = {
  ...realClock,
  nextTurn: () => new Promise((resolve) => setTimeout(resolve, 0)),
};

/** A page delays the timers of nested timers, but not messages. */
export const pageEngine: Engine = {
  ...realClock,
  nextTurn: () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', () => {
        port1.close();
        resolve();
      });
      port1.start();
      port2.postMessage(undefined);
    }),
};
