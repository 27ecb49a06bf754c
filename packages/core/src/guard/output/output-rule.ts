import type { GuardCategory } from '../../error/error-message.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { JsonObject } from '../../message/json.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import type { StageRejection } from '../input/input-stage.ts';

/**
 * A piece of a text that may not stay: what stands in its place, or a rejection of the whole. `end`
 * is the index after it.
 */
export type Finding = { readonly start: number; readonly end: number } & (
  | { readonly replacement: string }
  | { readonly reject: GuardCategory }
);

/** What is looked at: all text of one reply, or the value it gives by a tool. */
export interface ReviewContext {
  /**
   * Whether the text is a value for a program, JSON or YAML: what is changed in it has to leave it
   * one.
   */
  readonly isValue: boolean;
  /** Whether the reply calls tools, so that it is no answer yet. */
  readonly callsTools: boolean;
  /** How often the model was asked again for this reply. */
  readonly retries: number;
  /** Whose reply it is; absent where no run asked. */
  readonly run?: RunInfo | undefined;
}

/**
 * `text` is the text as it may be. `retry` has the model asked again with that question, once for a
 * reply.
 */
export type Review =
  | { readonly text: string; readonly warning?: JsonObject }
  | { readonly retry: string }
  | StageRejection;

/**
 * What a rule did to a reply: parts of it were replaced, it was let through with a warning, asked
 * for anew, or refused.
 */
export interface OutputAction {
  readonly rule: string;
  readonly action: 'changed' | 'warned' | 'retried' | 'rejected';
  /** Whose reply it was; absent where no run asked. */
  readonly run?: RunInfo | undefined;
}

/**
 * What an answer has to keep to; anything it throws, and anything else it gives, is a rejection:
 * guards fail closed.
 */
export interface OutputRule {
  readonly name: string;
  /**
   * What in a text may not stay, in order and without overlaps. Called with pieces of a reply while
   * it streams, and with the whole at its end; what it finds in a place must not hang on more than
   * `lookahead` characters around it to be held back in time.
   */
  find?(text: string): Iterable<Finding>;
  /** Looks at the whole of a reply's text, at its end. */
  review?(text: string, context: ReviewContext): Awaitable<Review>;
  /** Characters of a reply that are given out before its end, at most. */
  readonly releaseAtMost?: number;
}
