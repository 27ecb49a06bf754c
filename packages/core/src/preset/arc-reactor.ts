import { answersOnly, lastTurns, successfulTurns } from '../middleware/context/history-views.ts';
import { injectionGuard } from '../middleware/guard/input/injection-guard.ts';
import { lengthGuard } from '../middleware/guard/input/length-guard.ts';
import { rateLimit } from '../middleware/guard/counters/rate-limit.ts';
import { classifyModelErrors } from '../middleware/resilience/classify-model-errors.ts';
import { retry } from '../middleware/resilience/retry.ts';
import { arc } from '../tokens/arc-profile.ts';
import { selectTools } from '../middleware/selection/select-tools.ts';
import type { Middleware } from '../agent/middleware.ts';
import { definePreset } from '../agent/use-list.ts';
import { concurrencyLimit } from '../middleware/limits/concurrency-limit.ts';
import { Semaphore } from '../middleware/limits/semaphore.ts';
import { defaultToolTimeout } from '../middleware/limits/default-tool-timeout.ts';
import { arcReactorTrim } from './arc-reactor-trim.ts';
import { finalWithoutTools } from './final-without-tools.ts';

/**
 * Returns the executor of Arc Reactor 3.8.2 for an agent's `use` list (`docs/guides/presets.md`
 * lists its numbers, all of them measured):
 * - 10 tool calls, then a last request without tools; no limit of iterations;
 * - 30 s per agent call, and 15 s for a tool without a time limit of its own;
 * - 20 agent calls at the same time, and at most 20 tools per request;
 * - three tries after transient failures, and error codes for errors of custom models;
 * - the guards that Arc Reactor enables by default;
 * - trimming to 128,000 tokens by the estimate `arc`, minus 4,096 tokens for the answer;
 * - a temperature of 0.3; a hook that fails is ignored unless it sets `onError: 'fail'`;
 * - one system message: the prompt, the documents of a `retrieval()`, and the answer's format.
 *
 * The model sees the questions and answers of the last ten successful turns; the session log does
 * not change. Agents with the same returned list share its 20 slots and its rate limit. Arc
 * Reactor disables the output guard, circuit breaker, response cache, retrieval and fallback models
 * by default, and so does this preset. Add them to the list to use them.
 */
export function arcReactor(): readonly Middleware[] {
  return definePreset([
    {
      name: 'arcReactor',
      defaults: {
        limits: { toolCalls: 10, iterations: Infinity, timeoutMs: 30_000 },
        generate: { temperature: 0.3, maxTokens: 4096 },
        onHookError: 'ignore',
        retrievalRole: 'system',
      },
    },
    concurrencyLimit(new Semaphore(20)),
    rateLimit(),
    lengthGuard({ max: 5000 }),
    injectionGuard(),
    selectTools({ maxTools: 20 }),
    finalWithoutTools(),
    classifyModelErrors(),
    retry(),
    defaultToolTimeout(15_000),
    successfulTurns(),
    lastTurns(10),
    answersOnly(),
    arcReactorTrim({ window: 128_000, reserveOutput: 4096, profile: arc }),
  ]);
}
