import type { Awaitable, EarlyRun, Msg } from '@isoloop/core';
import { checkFields, checkOptions, func } from '@isoloop/core/options';
import {
  inputGuardOptions,
  inputGuardOf,
  type InputGuard,
  type InputGuardOptions,
} from './input-guard.ts';

/**
 * Creates a guard that checks whether a user may use the agent. `allows` must return `true` to let
 * the input pass. Any other value rejects it with `UNAUTHORIZED`.
 */
export function permissionGuard(
  allows: (run: EarlyRun, input: readonly Msg[]) => Awaitable<boolean>,
  options: InputGuardOptions = {},
): InputGuard {
  checkFields('permissionGuard()', { allows }, { allows: func });
  checkOptions('permissionGuard()', options, inputGuardOptions);
  const check = async (input: readonly Msg[], run: EarlyRun) => {
    const isAllowed = (await allows(run, input)) === true;
    return isAllowed ? input : ({ category: 'UNAUTHORIZED' } as const);
  };
  return inputGuardOf('permissionGuard', check, options);
}
