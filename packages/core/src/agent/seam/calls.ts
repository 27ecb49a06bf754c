import { wrappedResult } from '../../tool/tool-call.ts';
import type { LiveRun } from '../run/live-run.ts';
import { closeCall } from '../step/close-calls.ts';
import type { Run } from './run.ts';
import { takeLogStep } from './take-step.ts';

export function callsOf(live: LiveRun): Run['calls'] {
  return {
    get open() {
      return live.calls.open;
    },
    close: (toolUse, result) =>
      takeLogStep(live, () => closeCall(live, toolUse, wrappedResult(toolUse, result))),
    note: (notes, options) => takeLogStep(live, () => live.log.note(notes, options)),
  };
}
