import { AgentError } from '../../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../../error/check-fields.ts';
import type { GuardCategory } from '../../../error/error-message.ts';
import type { Awaitable } from '../../../event/hook.ts';
import type { Msg } from '../../../message/msg.ts';
import { isRejection, type StageRejection } from '../rejection.ts';
import type { GuardContext, InputStage } from './input-stage.ts';
import { addressesOf, textsOf } from './message-texts.ts';

/** Function that classifies a text. It returns `pass` or the reason for a rejection. */
export type Classify = (
  text: string,
  context: GuardContext,
) => Awaitable<'pass' | GuardCategory | StageRejection>;

/**
 * Creates a stage from your classifier, which may ask a small model. The classifier gets the text
 * of the input. It returns `pass`, a category or a rejection.
 */
export function classify(
  classifier: Classify,
  options: { readonly name?: string } = {},
): InputStage {
  checkFields('CONFIGURATION', 'classify()', { classifier }, 'classifier:function');
  checkOptions('CONFIGURATION', 'classify()', options, 'name:string|?');
  return {
    name: options.name ?? 'classify',
    async check(input, context) {
      const text = [...textsOf(input), ...addressesOf(input)].join('\n');
      // The input has no text if the agent call resumes from the session log.
      if (!text) return input;
      const verdict = await classifier(text, context);
      if (verdict === 'pass') return input;
      const said = typeof verdict === 'string' ? { category: verdict } : verdict;
      if (isRejection(said)) return said;
      throw new AgentError('CONFIGURATION', 'A classifier returned neither "pass" nor a category.');
    },
  };
}

/**
 * Creates a stage that checks whether a user may use the agent. `allows` must return `true` to let
 * the input pass; `false` rejects it with `UNAUTHORIZED`.
 */
export function permission(
  allows: (context: GuardContext, input: readonly Msg[]) => Awaitable<boolean>,
  options: { readonly name?: string } = {},
): InputStage {
  checkFields('CONFIGURATION', 'permission()', { allows }, 'allows:function');
  checkOptions('CONFIGURATION', 'permission()', options, 'name:string|?');
  return {
    name: options.name ?? 'permission',
    async check(input, context) {
      const allowed: unknown = await allows(context, input);
      if (allowed === true) return input;
      if (allowed === false) return { category: 'UNAUTHORIZED' };
      throw new AgentError('CONFIGURATION', 'A permission check returned neither true nor false.');
    },
  };
}
