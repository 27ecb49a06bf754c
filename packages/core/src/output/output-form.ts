import type { JsonValue } from '../message/json.ts';
import type { MessageMetadata } from '../message/metadata.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { Schema, Validation } from '../schema/schema.ts';

/** A value that passed the schema, and the JSON that the model wrote for it. */
export interface ParsedOutput {
  readonly value: unknown;
  readonly json: JsonValue;
  /** Text of the answer. Default: the value as JSON. */
  readonly text?: string;
}

/** An output for which a form creates the answer. */
export interface AnswerParts {
  /** The reply that contains the output. */
  readonly reply: Msg;
  /** Messages of the attempts, which the answer replaces. */
  readonly removed: readonly Msg[];
  /** Text of the answer. */
  readonly text: string;
  /** Metadata of the answer: the output, and the JSON that the model wrote. */
  readonly metadata: Pick<MessageMetadata, 'output' | 'outputJson'>;
  /** Type of the event with which readers get a text that no reply has. */
  readonly chunk: 'reasoning-chunk' | 'summary-chunk';
}

/** The form in which the model gives the output of one run. */
export interface OutputForm {
  readonly schema: Schema<unknown>;
  /** Whether the first reply without an output is no failed attempt, and only gets a reminder. */
  readonly isReminded?: boolean;
  /** Message that `request` adds. Context policies count its tokens. */
  readonly addedLater?: Msg;
  /** Question for the output at a limit. */
  readonly limitPrompt: string;
  /**
   * Returns a changed copy of a model request. `isAsked`: the model was asked for the output and
   * has to give it now.
   */
  adaptRequest(request: ModelRequest, isAsked: boolean): ModelRequest;
  /** Reads the output from a reply. */
  read(reply: Msg): Promise<Validation<ParsedOutput>>;
  /** Returns what the model wrote as the output, for the error. */
  writtenText(reply: Msg): string;
  /**
   * Reads the output from the newest results of tool calls. Returns `undefined` if none of them is
   * for the output. Absent if no tool takes the output.
   */
  readResults?(
    messages: readonly Msg[],
  ): Promise<{ readonly reply: Msg; readonly reading: Validation<ParsedOutput> } | undefined>;
  /** Returns the question after a reply without a valid output. */
  correctionText(issues: readonly string[]): string;
  /** Creates the answer, and sends its text to the readers unless they have it. */
  answer(parts: AnswerParts): Promise<Msg>;
  /**
   * Returns a message of the log without its part of an attempt, or `undefined` if nothing is left.
   */
  withoutAttempt?(message: Msg): Msg | undefined;
}
