import { checkNoOptions } from '@isoloop/core/options';
import { answersOnly, lastTurns, successfulTurns } from '@isoloop/core/context';
import { injectionGuard, lengthGuard, rateLimit } from '@isoloop/guards';
import { classifyModelErrors, retry } from '@isoloop/core/resilience';
import { arc } from '@isoloop/core/tokens';
import { selectTools } from '@isoloop/core/selection';
import type { Middleware } from '@isoloop/core';
import { definePreset } from '@isoloop/core/agent';
import { concurrencyLimit, Semaphore, defaultToolTimeout } from '@isoloop/core/limits';
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
export function arcReactor(): readonly Middleware[];
export function arcReactor(...args: readonly unknown[]): readonly Middleware[] {
  checkNoOptions(
    'arcReactor()',
    args,
    'Set the limits of the agent, such as `limits: { toolCalls: 3 }`. To replace one of its middleware, add middleware of the same name to `use`, such as lengthGuard({ max: 9000 }).',
  );
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
