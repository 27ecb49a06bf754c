import { fitContext } from '../context/fit-context.ts';
import { answersOnly, lastTurns, successfulTurns } from '../context/history-views.ts';
import { injection } from '../guard/input/injection.ts';
import { inputGuards } from '../guard/input/input-guards.ts';
import { inputLength } from '../guard/input/input-length.ts';
import { rateLimit } from '../guard/input/rate-limit.ts';
import { modelErrors } from '../middleware/resilience/model-errors.ts';
import { retry } from '../middleware/resilience/retry.ts';
import { arc } from '../tokens/arc-profile.ts';
import { selectTools } from '../tool-selection/select-tools.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import { concurrency } from '../middleware/limits/concurrency-limit.ts';
import { defaultToolTimeout } from '../middleware/limits/default-tool-timeout.ts';
import { Semaphore } from '../middleware/limits/semaphore.ts';
import { finalWithoutTools } from './final-without-tools.ts';

/**
 * Returns the executor of Arc Reactor 3.8.2 for an agent's `use` list (README: its numbers, each measured):
 * - 10 tool calls, then a last request without tools; no limit of iterations;
 * - 30 s per call, 15 s for a tool without a time-out of its own;
 * - 20 calls at once, and at most 20 tools per request;
 * - three tries for a transient failure, error codes for those of custom models, and the guards it
 *   has on;
 * - trimming by the estimate `arc` to 128,000 tokens, less 4,096 for the answer;
 * - a temperature of 0.3; a failing hook without `onError: 'fail'` is ignored.
 *
 * The model sees the questions and answers of the last ten successful turns; the log keeps
 * everything. Agents that share one result share its places and its rate limit. As in Arc Reactor,
 * output guard, circuit breaker, response cache, retrieval and fallback models are off: add them to
 * the list.
 */
export function arcReactor(): readonly Middleware[] {
  return [
    {
      name: 'arcReactor',
      defaults: {
        limits: { toolCalls: 10, iterations: Infinity, timeoutMs: 30_000 },
        generate: { temperature: 0.3, maxTokens: 4096 },
        onHookError: 'ignore',
      },
    },
    concurrency(new Semaphore(20)),
    inputGuards([rateLimit(), inputLength({ max: 5000 }), injection()]),
    selectTools({ maxTools: 20 }),
    finalWithoutTools(),
    modelErrors(),
    retry(),
    defaultToolTimeout(15_000),
    successfulTurns(),
    lastTurns(10),
    answersOnly(),
    fitContext({ window: 128_000, reserveOutput: 4096, profile: arc, reference: true }),
  ];
}
