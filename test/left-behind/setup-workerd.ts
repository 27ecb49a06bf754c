import { checkLeftBehind } from './check.ts';
import { workerdEngine } from './engines.ts';
import { watchRejections } from './rejections.ts';
import { watchRuns } from './runs.ts';
import { watchTimers } from './timers.ts';

watchTimers();
watchRuns();
watchRejections();
checkLeftBehind(workerdEngine);
