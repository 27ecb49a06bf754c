import type { AgentError } from '../../../error/agent-error.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';
import { RuleRejection } from './checked-rule.ts';
import type { GuardedReplyOptions } from './guarded-reply.ts';

/** The rules and settings for the replies of one run. */
export interface ReplyGuards extends Omit<GuardedReplyOptions, 'isForProgram'> {
  readonly profile: TokenProfile;
  errorOf(rejection: RuleRejection): AgentError;
}

/** Returns the error of a reply. Reports a rejection. */
export function failureOf(thrown: unknown, { onAction, errorOf }: ReplyGuards): unknown {
  if (!(thrown instanceof RuleRejection)) return thrown;
  onAction({ rule: thrown.rule, action: 'rejected' });
  return errorOf(thrown);
}
