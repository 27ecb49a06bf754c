import type { ToolResult } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model.ts';

/** A value that passed the schema, and the JSON that the model wrote for it. */
export interface Found {
  readonly value: unknown;
  readonly given: JsonValue;
  /** Text of the answer. Default: the value as JSON. */
  readonly text?: string;
}

/** A value in a reply, or why there is none. `text`: what the model wrote instead of the value. */
export type Reading =
  | { readonly ok: true; readonly found: Found }
  | { readonly ok: false; readonly issues: readonly string[]; readonly text: string };

/** The form in which the model gives the value of one run. */
export interface ValueForm {
  /**
   * Whether the value is in the arguments of the output tool. The first reply without the tool is
   * then no failed attempt, and only gets a reminder.
   */
  readonly isCall: boolean;
  /** Message that `request` adds. Context policies count its tokens. */
  readonly beside?: Msg;
  /** Question for the value at a limit. */
  readonly lastQuestion: string;
  /**
   * Returns a changed copy of a model request. `isAsked`: the model was asked for the value and has
   * to give it now.
   */
  request(request: ModelRequest, isAsked: boolean): ModelRequest;
  /** Reads the value from a reply. `result`: the result of its last call of the output tool. */
  read(reply: Msg, result?: ToolResult): Promise<Reading>;
  /** Returns the question after a reply without a valid value. */
  question(issues: readonly string[]): string;
}
