import { exposeAgent } from '@isoloop/web-worker/worker';
import { payer } from './payer.ts';

exposeAgent(({ sessionId, memory }) => payer('in the tab', sessionId, memory));
