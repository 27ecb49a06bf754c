import type { Halt } from '../../wait/halt.ts';
import type { AgentSettings } from '../kernel-options.ts';
import type { LoggedConversation } from './logged-conversation.ts';
import type { MessageAuthor } from './message-author.ts';
import type { OpenCalls } from './open-calls.ts';
import type { Outbox } from './outbox.ts';
import type { RunClock } from './run-clock.ts';

/** The parts of a run that nearly every step uses. A step that needs more extends this type. */
export interface StepParts {
  readonly log: LoggedConversation;
  readonly calls: OpenCalls;
  readonly author: MessageAuthor;
  readonly outbox: Outbox;
  readonly halt: Halt;
  readonly clock: RunClock;
  /** The options of the agent and of the agent call. */
  readonly options: AgentSettings;
}
