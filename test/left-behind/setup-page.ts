import { checkLeftBehind } from './check.ts';
import { watchDatabases } from './page-databases.ts';
import { pageEngine } from './engines.ts';
import { watchLocks } from './page-locks.ts';
import { watchWorkers } from './page-workers.ts';
import { watchPageRejections } from './rejections.ts';
import { watchRuns } from './runs.ts';
import { watchTimers } from './timers.ts';

watchTimers();
watchRuns();
watchPageRejections();
watchWorkers();
watchLocks();
watchDatabases();
checkLeftBehind(pageEngine);
