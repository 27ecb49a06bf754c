/**
 * Media type of an object that is sent while it grows.
 *
 * - The body is the JSON text of the object, without insignificant spaces. The last character is
 *   sent when the object is validated, so a whole text is a valid object.
 * - `restartMark` begins the text anew, because the model corrects the object.
 * - `failureMark` begins the last text: why the object is missing, as `{ code, message }`.
 * - A reader ignores each `keepAlive`, also in strings.
 * - A body that ends without a whole text or a failure is incomplete.
 *
 * JSON has none of these characters: its strings contain control characters as escapes only.
 */
export const objectMediaType = 'application/vnd.isoloop.object;v=1';

/** The character `RS`, which precedes a text in RFC 7464, too. */
export const restartMark = '\u001e';

/** The character `CAN`, which cancels what precedes it. */
export const failureMark = '\u0018';

/** The character that shows that the connection is open. */
export const keepAlive = '\n';

/** Why an object is missing. */
export interface Failure {
  /** An `AgentErrorCode`. */
  readonly code: string;
  readonly message: string;
}

/** Returns the last text of a body without an object. */
export function failureText({ code, message }: Failure): string {
  return failureMark + JSON.stringify({ code, message });
}
