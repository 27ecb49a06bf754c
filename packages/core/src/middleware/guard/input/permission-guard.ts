import type { RunContext } from '../../../agent/middleware.ts';
import { checkFields, checkOptions } from '../../../error/agent-error.ts';
import type { Awaitable } from '../../../event/hook.ts';
import type { Msg } from '../../../message/msg.ts';
import {
  inputGuardFields,
  inputGuardOf,
  type InputGuard,
  type InputGuardOptions,
} from './input-guard.ts';

/**
 * Creates a guard that checks whether a user may use the agent. `allows` must return `true` to let
 * the input pass. Any other value rejects it with `UNAUTHORIZED`.
 */
export function permissionGuard(
  allows: (context: RunContext, input: readonly Msg[]) => Awaitable<boolean>,
  options: InputGuardOptions = {},
): InputGuard {
  checkFields('permissionGuard()', { allows }, 'allows:function');
  checkOptions('permissionGuard()', options, inputGuardFields);
  const check = async (input: readonly Msg[], context: RunContext) => {
    const isAllowed = (await allows(context, input)) === true;
    return isAllowed ? input : ({ category: 'UNAUTHORIZED' } as const);
  };
  return inputGuardOf('permissionGuard', check, options);
}
