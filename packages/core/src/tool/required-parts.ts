import type { Tool } from './tool.ts';

/**
 * Returns the names of the middleware that an agent needs for a tool. An agent without them must not
 * offer the tool.
 */
export function requiredParts({ requires = [], ...tool }: Tool): readonly string[] {
  const needsDecisions = tool.needsApproval || !tool.execute || tool.replay === 'ask';
  return [
    ...requires,
    ...(needsDecisions ? ['approvals'] : []),
    ...(tool.returnDirect ? ['directAnswers'] : []),
  ];
}
