import { checkLeftBehind } from './check.ts';
import { nodeEngine } from './engines.ts';
import { watchNodeTimers } from './node-timers.ts';
import { watchProcesses, watchThreads } from './processes.ts';
import { watchRejections } from './rejections.ts';
import { watchRuns } from './runs.ts';
import { watchServers } from './servers.ts';
import { watchTimers } from './timers.ts';

watchTimers();
watchNodeTimers();
watchRuns();
watchRejections();
watchServers();
watchProcesses();
watchThreads();
checkLeftBehind(nodeEngine);
