import { steering } from '../middleware/steering/steering.ts';
import type { Middleware } from '../agent/middleware.ts';
import { presetOf } from '../agent/use-list.ts';
import { directAnswers } from '../middleware/answer/direct-answers.ts';
import { basicApprovals } from '../middleware/approval/basic-approvals.ts';
import { runLimits } from '../middleware/limits/run-limits.ts';
import { lastAnswer } from '../middleware/limits/last-answer.ts';

/** The part of `standard()` that serves each option. */
export const servingParts: Readonly<Record<string, string>> = {
  pauseWhenIdle: 'steering',
  returnDirect: 'directAnswers',
  onLimit: 'lastAnswer',
  tokens: 'runLimits',
  toolCalls: 'runLimits',
};

/**
 * Returns the features of `ReActAgent` that the kernel does not have, one middleware each. They
 * carry out decisions, steer a run, and take results of tools as answers. They also give a last
 * answer at a limit, and count tokens and tool calls. A later part of the same name replaces one, so
 * `{ name: 'steering' }` removes it.
 */
export function standard(): readonly Middleware[] {
  return presetOf([basicApprovals(), steering(), directAnswers(), lastAnswer(), runLimits()]);
}
