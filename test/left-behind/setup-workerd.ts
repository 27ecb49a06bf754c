import { checkLeftBehind } from './check.ts';
import { realClock } from './real-clock.ts';
import { watchRejections } from './rejections.ts';
import { watchRuns } from './runs.ts';
import { watchTimers } from './timers.ts';

const { setTimeout } = realClock;
watchTimers();
watchRuns();
watchRejections();
checkLeftBehind({ ...realClock, nextTurn: () => new Promise((resolve) => setTimeout(resolve, 0)) });
