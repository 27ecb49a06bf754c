import { checkLeftBehind } from './check.ts';
import { watchDatabases } from './databases.ts';
import { watchLocks } from './page-locks.ts';
import { watchWorkers } from './page-workers.ts';
import { realClock } from './real-clock.ts';
import { watchRejections } from './rejections.ts';
import { watchRuns } from './runs.ts';
import { watchTimers } from './timers.ts';

// A browser delays timers of nested timers, but not messages.
const channel = new MessageChannel();

watchTimers();
watchRuns();
watchRejections();
watchWorkers();
watchLocks();
watchDatabases();
checkLeftBehind({
  ...realClock,
  nextTurn: () =>
    new Promise((resolve) => {
      channel.port1.addEventListener('message', () => resolve(), { once: true });
      channel.port1.start();
      channel.port2.postMessage(undefined);
    }),
});
