import { AgentError } from '../../error/agent-error.ts';

export function checkAttempts(where: string, attempts: number): void {
  if (Number.isInteger(attempts) && attempts >= 1) return;
  throw new AgentError(
    'CONFIGURATION',
    `${where}: attempts must be a whole number of 1 or more, not ${String(attempts)}.`,
  );
}
