import type { ParsedInput } from '../../event/agent-input.ts';
import type { InboxHandler } from '../run/inbox.ts';
import type { LiveRun } from '../run/live-run.ts';
import { admitInput } from '../step/settle.ts';
import { step } from './step.ts';

/** What others ask of a run while it works. */
export interface RunInbox {
  /**
   * Lets middleware handle requests of `interrupt()` and new agent calls, until the run has its
   * ending. Works in wrappers, hooks and tools.
   */
  handle(handler: InboxHandler): void;
  /** Passes more input through `wrapInput`. Works in wrappers, hooks and tools. */
  admit(input: ParsedInput): Promise<ParsedInput>;
}

/** Returns the inbox of a run. */
export function inboxOf(run: LiveRun): RunInbox {
  return {
    handle: (handler) => run.alive().inbox.add(handler),
    admit: (input) => step(run, () => admitInput(run, input)),
  };
}
