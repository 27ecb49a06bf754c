import type { Msg } from '../message/msg.ts';
import type { EventBatch } from '../hook/agent-event.ts';
import type { StopReason } from './agent-result.ts';
import type { Decision } from './pending-call.ts';

/** Where the loop goes next. */
export type Move =
  | { readonly to: 'reason' }
  | { readonly to: 'act'; readonly decisions?: readonly Decision[] }
  | { readonly to: 'finish'; readonly reason: StopReason; readonly message: Msg; readonly output?: unknown };

/** A state of the loop: yields events, returns the next move. */
export type Step = AsyncGenerator<EventBatch, Move>;
