export { pauseNextCall } from './pause-next-call.ts';
export { steering } from './steering.ts';
