import { oneOf } from '../error/options/kinds.ts';
import type { Kind } from '../error/options/option-table.ts';
import type { AgentErrorData } from '../error/agent-error.ts';
import type { StopEvent, StopReason } from '../event/agent-result.ts';
import type { JumpReason } from '../event/hook.ts';
import type { Msg } from '../message/msg.ts';
import type { LimitReason, RequestDraft } from './request-draft.ts';

/**
 * What a run does next: it asks the model, runs the open tool calls, or ends. This value is the
 * only way to steer the loop. `mustAsk`: the model must be asked, even if middleware would answer
 * with the results of tools.
 */
export type Next =
  | { readonly to: 'model'; readonly mustAsk?: boolean }
  | { readonly to: 'tools' }
  | Ending;

/** Reason of a run that ends with a message that no model wrote. */
export type CustomReason = JumpReason | 'interrupted' | 'rejected';

/** Fields of every end of a run. `R`: the reasons that it may have. */
export interface EndBase<R extends StopReason = StopReason> {
  readonly reason: R;
  readonly output?: unknown;
  readonly error?: AgentErrorData | undefined;
  readonly stoppedAt?: StopEvent | undefined;
  /**
   * Whether the open tool calls stay open, for the next agent call. Otherwise they get an
   * `interrupted` result. Default: whether the reason is `suspended`.
   */
  readonly keepsCalls?: boolean | undefined;
}

/** The end of a run with a reply of the model. The log does not have it yet. */
export interface AnswerEnd extends EndBase<'stop' | LimitReason> {
  readonly kind: 'answer';
  readonly message: Msg;
}

/** The end of a run with an answer that an earlier run stored, after its hooks. */
export interface StoredEnd extends EndBase<'stop'> {
  readonly kind: 'stored';
  readonly message: Msg;
}

/** The end of a run with a message that no model wrote. The loop sends its text to the readers. */
export interface CustomEnd extends EndBase<CustomReason> {
  readonly kind: 'custom';
  readonly message: Msg;
}

/** The end of a run whose next request would exceed a limit. Wrappers may ask for a last answer. */
export interface LimitEnd extends EndBase<LimitReason> {
  readonly kind: 'limit';
  readonly draft: RequestDraft;
  readonly message?: undefined;
}

/**
 * The end of a run that a pause, an abort or a hook ended. `message`: the last reply, or a part.
 */
export interface UnansweredEnd extends EndBase<JumpReason | 'aborted' | 'suspended'> {
  readonly kind: 'unanswered';
  readonly message?: Msg | undefined;
}

/**
 * The end of a run. The loop stores its message if the log does not have it yet. Each kind has its
 * own reasons. The reason `error` has no ending: throw the error.
 */
export type Ending = AnswerEnd | StoredEnd | CustomEnd | LimitEnd | UnansweredEnd;

/** The kind of the reasons of endings. */
export const endReason: Kind<Ending['reason']> = oneOf(
  'stop',
  'limit',
  'max-iterations',
  'return-direct',
  'stopped-by-hook',
  'interrupted',
  'rejected',
  'aborted',
  'suspended',
);

/** Returns whether a step of the loop ended the run, so that no other step follows. */
export function isEnding(value: object): value is Ending {
  return 'kind' in value;
}

/** Returns whether `wrapRequest` returned a `Next` in place of a model request. */
export function isNext(value: object): value is Next {
  return 'to' in value || isEnding(value);
}

/** Returns whether the run ends with a reply that wrappers may still judge. */
export function isNewAnswer(next: Next): next is AnswerEnd {
  return isEnding(next) && next.kind === 'answer';
}
