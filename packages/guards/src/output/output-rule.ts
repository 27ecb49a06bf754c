import type { GuardCategory } from '@isoloop/core/error';
import type { Awaitable, JsonObject } from '@isoloop/core';
import type { RunInfo } from '@isoloop/core/model';
import type { Rejection } from '../rejection.ts';

/**
 * A part of a text that a rule does not allow. It is replaced, or the whole text is rejected.
 * `start` is the index of its first character, and `end` is the index after its last character.
 */
export type Finding = { readonly start: number; readonly end: number } & (
  | { readonly replacement: string }
  | { readonly reject: GuardCategory }
);

/**
 * Facts about a reviewed text. The text is the whole text of one reply, or a value that the reply
 * gives through a tool.
 */
export interface ReviewContext {
  /**
   * Whether the text is for a program, in JSON or YAML. A changed text must still be a valid value.
   */
  readonly isForProgram: boolean;
  /** Whether the reply has tool calls, so that it is not the answer yet. */
  readonly callsTools: boolean;
  /**
   * Whether the rule may ask for another reply with `retry`. All rules together may ask once per
   * reply, and not about an answer that hooks or other middleware changed.
   */
  readonly mayRetry: boolean;
  /** Run that asked for the reply. Absent if the model was asked outside a run. */
  readonly run?: RunInfo | undefined;
}

/**
 * What an output rule decides about a whole text. `text` is the text that may pass, changed or not.
 * `retry` is a question that asks the model for another reply. If `mayRetry` is false, `retry`
 * rejects the text with `OUTPUT_REJECTED`.
 */
export type Review =
  | { readonly text: string; readonly warning?: JsonObject }
  | { readonly retry: string }
  | Rejection;

/**
 * Effect of a rule on a reply. `changed`: the rule replaced text. `warned`: the reply passed with a
 * warning. `retried`: the model was asked again. `rejected`: the reply was rejected.
 */
export interface OutputAction {
  readonly rule: string;
  readonly action: 'changed' | 'warned' | 'retried' | 'rejected';
  /** Run that asked for the reply. Absent if the model was asked outside a run. */
  readonly run?: RunInfo | undefined;
}

/**
 * A rule for replies of the model. An exception or an invalid return value counts as a rejection,
 * so a broken rule lets nothing pass.
 */
export interface OutputRule {
  readonly name: string;
  /**
   * Returns the parts of a text that the rule does not allow, in order and without overlaps. The
   * function is called with pieces of a reply while it streams, and with the whole reply at its
   * end. A finding must depend on at most `lookahead` characters around it. Otherwise its text may
   * be released before the rule finds it.
   */
  find?(text: string): Iterable<Finding>;
  /**
   * Returns the index from which a streamed text is withheld, because more text may complete a
   * finding there. Default: the last `lookahead` characters.
   */
  withheldFrom?(text: string, lookahead: number): number;
  /** Reviews the whole text of a reply after its end. */
  review?(text: string, context: ReviewContext): Awaitable<Review>;
  /** Maximum number of characters of a reply to release before its end. Default: no limit. */
  readonly releaseAtMost?: number;
}
