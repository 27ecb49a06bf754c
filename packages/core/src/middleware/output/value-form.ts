import type { ToolResult } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import type { Tool } from '../../tool/tool.ts';

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
   * Tool whose arguments are the value. The first reply without a call of it is no failed attempt,
   * and only gets a reminder.
   */
  readonly tool?: Tool;
  /** Message that `request` adds. Context policies count its tokens. */
  readonly beside?: Msg;
  /** Question for the value at a limit. */
  readonly lastQuestion: string;
  /**
   * Returns a changed copy of a model request. `isAsked`: the model was asked for the value and has
   * to give it now.
   */
  request(request: ModelRequest, isAsked: boolean): ModelRequest;
  /**
   * Reads the value from a reply, or from its calls of the tool since the last request. `result`:
   * the result of the last call.
   */
  read(reply: Msg, result?: ToolResult): Promise<Reading>;
  /** Returns the question after a reply without a valid value. */
  question(issues: readonly string[]): string;
}
