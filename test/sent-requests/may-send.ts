import { registry } from './registry.ts';

/**
 * Lets the running test, or the file if no test runs, send requests that break a rule, such as
 * `chat-completions/known-fields`. Only a test whose subject is such a request calls it.
 */
export function maySend(ruleId: string, reason: string): void {
  if (!reason) throw new Error('maySend() needs a reason.');
  registry().scope?.allowed.add(ruleId);
}
