import type { EventBatch } from '../../event/agent-event.ts';
import { isAnswerReason, type AgentResult } from '../../event/agent-result.ts';
import { parseJson, sortedJson } from '../../message/json.ts';
import { AnswerSource } from './answer-source.ts';
import { CompactJson } from './compact-json.ts';
import { failureText, restartMark } from './object-format.ts';

/** Writes the object of a structured answer while it arrives. See `objectMediaType`. */
export class ObjectWriter {
  #json = new CompactJson(false);
  /** Text of the present source that was not looked at yet. */
  #newText = '';
  /** Text of the object for the reader. */
  #objectText = '';
  /** End of this text, which the reader does not have yet. */
  #unsentText = '';
  /** Whether the present source continues `#objectText`. */
  #isContinuing = false;
  /** Whether the object that the reader has is not the answer. */
  #isDiscarded = false;
  readonly #source = new AnswerSource({
    begin: (isCall) => this.#begin(isCall),
    push: (piece) => (this.#newText += this.#json.push(piece)),
    discard: () => (this.#isDiscarded = true),
  });

  /** Returns the next piece for the reader, which may be empty. */
  write(batch: EventBatch): string {
    let failure = '';
    for (const event of batch) {
      // The output of an agent that runs as a tool is for the calling agent, not for the reader.
      if (event.agentPath.length > 1) continue;
      this.#source.take(event);
      if (event.type === 'error') failure = failureText(event.error);
      if (event.type === 'run-end') return this.#next() + failure + this.#end(event.result);
    }
    return this.#next() + failure;
  }

  #begin(isCall: boolean): void {
    if (this.#isContinuing) this.#takeNewText();
    this.#json = new CompactJson(isCall);
    this.#newText = '';
    this.#isContinuing = false;
  }

  #next(): string {
    let mark = '';
    if (!this.#isContinuing) {
      if (!this.#newText && !this.#isDiscarded) return '';
      // A finished answer repeats its object in another format.
      if (this.#isWritten(parseJson(this.#newText))) return '';
      mark = this.#restart();
    }
    this.#takeNewText();
    const rest = this.#unsentText;
    // The end may be half of a character.
    const keepsLast = this.#json.mayEnd || /[\ud800-\udbff]$/.test(rest.slice(-1));
    const { length } = keepsLast ? rest.slice(0, -1) : rest;
    this.#unsentText = rest.slice(length);
    return mark + rest.slice(0, length);
  }

  #takeNewText(): void {
    this.#objectText += this.#newText;
    this.#unsentText += this.#newText;
    this.#newText = '';
  }

  #isWritten(value: unknown): boolean {
    return value !== undefined && sortedJson(value) === sortedJson(parseJson(this.#objectText));
  }

  #restart(): string {
    const mark = this.#objectText.length > this.#unsentText.length ? restartMark : '';
    this.#isContinuing = true;
    this.#isDiscarded = false;
    this.#objectText = '';
    this.#unsentText = '';
    return mark;
  }

  #end({ reason, text, message, error, pending }: AgentResult): string {
    const { output = parseJson(text) ?? parseJson(this.#objectText) } = message.metadata ?? {};
    if (isAnswerReason(reason) && output !== undefined) {
      const isWritten = this.#isWritten(output);
      const rest = isWritten ? this.#unsentText : this.#restart() + JSON.stringify(output);
      // Nothing else shows the end of a number.
      return typeof output === 'number' ? `${rest} ` : rest;
    }
    if (reason === 'error') return '';
    const code = /abort|interrupt/.test(reason) ? 'ABORTED' : 'OUTPUT_INVALID';
    return failureText({
      code: pending.length ? 'PENDING_TOOL_CALLS' : (error?.code ?? code),
      message: reason === 'rejected' ? text : `The answer has no object, but ends with ${reason}.`,
    });
  }
}
