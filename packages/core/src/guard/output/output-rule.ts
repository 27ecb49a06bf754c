import type { GuardCategory } from '../../error/error-message.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { JsonObject } from '../../message/json.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import type { StageRejection } from '../input/input-stage.ts';

/**
 * A part of a text that must go, with its replacement or a rejection of the whole. `end` is the
 * index after it.
 */
export type Finding = { readonly start: number; readonly end: number } & (
  | { readonly replacement: string }
  | { readonly reject: GuardCategory }
);

/**
 * Facts about the reviewed text: the whole text of one reply, or the value it gives through a tool.
 */
export interface ReviewContext {
  /** Whether the text is a value for a program, in JSON or YAML. A change must keep it one. */
  readonly isValue: boolean;
  /** Whether the reply calls tools and so is not the answer yet. */
  readonly callsTools: boolean;
  /** Number of times the model was asked again for this reply. */
  readonly retries: number;
  /** Run that asked for the reply; absent if no run did. */
  readonly run?: RunInfo | undefined;
}

/**
 * Result of a review. `text` is the approved text. `retry` asks the model again with that question,
 * once per reply.
 */
export type Review =
  | { readonly text: string; readonly warning?: JsonObject }
  | { readonly retry: string }
  | StageRejection;

/**
 * Effect of a rule on a reply: it replaced parts, passed the reply with a warning, asked again or
 * rejected.
 */
export interface OutputAction {
  readonly rule: string;
  readonly action: 'changed' | 'warned' | 'retried' | 'rejected';
  /** Run that asked for the reply; absent if no run did. */
  readonly run?: RunInfo | undefined;
}

/**
 * A rule for answers. An exception or an invalid return value is a rejection: guards fail closed.
 */
export interface OutputRule {
  readonly name: string;
  /**
   * Returns the parts of a text that must go, in order and without overlaps. Called with pieces of
   * a reply while it streams, and with the whole reply at its end. To be held back in time, a
   * finding must depend on at most `lookahead` characters around it.
   */
  find?(text: string): Iterable<Finding>;
  /** Reviews the whole text of a reply at its end. */
  review?(text: string, context: ReviewContext): Awaitable<Review>;
  /** Most characters of a reply to release before its end; default: no limit. */
  readonly releaseAtMost?: number;
}
