import { checkLeftBehind } from './check.ts';
import { watchProcesses, watchThreads } from './processes.ts';
import { watchNodeRejections } from './rejections.ts';
import { watchRuns } from './runs.ts';
import { watchServers } from './servers.ts';
import { realClock } from './real-clock.ts';
import { watchTimers } from './timers.ts';

const { setImmediate } = realClock;
watchTimers();
watchRuns();
watchNodeRejections();
watchServers();
watchProcesses();
watchThreads();
checkLeftBehind({ ...realClock, nextTurn: () => new Promise((resolve) => setImmediate(resolve)) });
