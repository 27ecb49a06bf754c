import type { Middleware } from '../agent/middleware.ts';
import { boundedPart, presetOf } from '../agent/use-list.ts';
import { directAnswers } from '../middleware/answer/direct-answers.ts';
import { decidedCalls } from '../middleware/approval/decided-calls.ts';
import { runLimits } from '../middleware/limits/run-limits.ts';
import { lastAnswer } from '../middleware/limits/summarize.ts';
import { steering } from '../middleware/steering/steering.ts';

/**
 * Returns the features of `ReActAgent` that the kernel does not have: decisions about tool calls,
 * pauses and injected messages, direct answers of tools, a last answer at a limit, and limits of
 * tokens and tool calls. A part is replaced by a later part of its name, or removed by
 * `{ name: 'steering' }`.
 */
export function standard(): readonly Middleware[] {
  const parts = [decidedCalls(), steering(), directAnswers(), lastAnswer(), runLimits()];
  return presetOf(parts.map(boundedPart));
}
