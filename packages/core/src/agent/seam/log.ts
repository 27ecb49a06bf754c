import { checkFields } from '../../error/options/check-fields.ts';
import { array, optional } from '../../error/options/kinds.ts';
import type { FieldTable } from '../../error/options/option-table.ts';
import { checkNewIds, eachTime } from '../../event/agent-input.ts';
import { messages } from '../../message/message-kind.ts';
import { markHandled } from '../../wait/mark-handled.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { LogEdit } from '../run/logged-conversation.ts';
import type { Run } from './run.ts';
import { takeLogStep } from './take-step.ts';

export function logOf(live: LiveRun): Run['log'] {
  const load = async (): Promise<void> => {
    const { aborted, failure } = live.alive().halt;
    // If the agent refuses this call because another call runs, the state of the running call must
    // not change.
    if (!aborted && !failure) await live.log.restore();
  };
  const edit = (change: LogEdit): Promise<void> => {
    checkFields('The argument of run.log.edit()', change, editFields);
    const { remove = [], append = [] } = change;
    const kept = live.log.messages.filter(({ id }) => !remove.includes(id));
    checkNewIds(append, kept, eachTime);
    return live.log.edit(change);
  };
  const store = async (): Promise<void> => {
    await live.alive().setup.memory.flush?.();
  };
  return {
    edit: (change) => takeLogStep(live, () => edit(change)),
    load: () => markHandled(load()),
    store: () => markHandled(store()),
  };
}

const editFields: FieldTable<LogEdit> = {
  remove: optional(array),
  replace: optional(messages),
  append: optional(messages),
};
