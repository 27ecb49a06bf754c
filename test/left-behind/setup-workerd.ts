import { checkLeftBehind } from './check.ts';
import { workerdEngine } from './engines.ts';
import { watchWorkerdRejections } from './rejections.ts';
import { watchRuns } from './runs.ts';
import { watchTimers } from './timers.ts';

watchTimers();
watchRuns();
watchWorkerdRejections();
checkLeftBehind(workerdEngine);
