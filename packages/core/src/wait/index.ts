export { abortable, onAbort } from './abort.ts';
export { Deadline } from './deadline.ts';
export { monotonicNow } from './monotonic.ts';
export { retryableOnce } from './retryable-once.ts';
export { syncValue } from './sync-value.ts';
export { sleepFor, timerMs } from './timer.ts';
