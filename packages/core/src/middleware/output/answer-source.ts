import type { AgentEvent } from '../../event/agent-event.ts';
import { messageIdOf, textOf } from '../../message/msg.ts';
import { outputToolName } from '../../schema/output-format.ts';

/**
 * Beginning of a JSON object or list in a text. A bracket in prose, such as in `[see below]`, does
 * not match.
 */
const startOfJson = /\{\s*["}]|\[\s*(?:["{[\]]|-?\d|true|false|null)/;

/**
 * Longest beginning of JSON that is kept, in characters. JSON rarely begins with so many spaces.
 */
const maxBeginningLength = 200;

/**
 * Finds the JSON of a structured answer while it arrives, in the text of a reply or in the
 * arguments of the output tool.
 */
export abstract class AnswerSource {
  /** Whether the value so far is no longer valid. */
  protected isReset = false;
  /** Where the object comes from: the text of a message, or a call. */
  #source: string | undefined;
  #hasBegun = false;
  /** End of the text so far, with which JSON may begin. */
  #textSoFar = '';

  /** Reads what an event of the agent itself says of the object. */
  take(event: AgentEvent): void {
    switch (event.type) {
      case 'pre-reasoning':
      case 'pre-summary':
        return this.reset();
      case 'reasoning-chunk':
        return event.kind === 'text' ? this.text(event.blockId, event.delta) : undefined;
      case 'summary-chunk':
        return this.text(event.blockId, event.delta);
      case 'tool-input-chunk':
        return event.name === outputToolName ? this.input(event.toolUseId, event.delta) : undefined;
      case 'step-reset':
        this.reset();
        return event.replacement && this.text('', textOf(event.replacement));
      default:
        return undefined;
    }
  }

  /** Discards what was read, because the reply with it is not the answer. */
  reset(): void {
    this.readFrom(undefined);
    this.isReset = true;
  }

  /**
   * Reads the next piece of the text of a block. Text and code fences around the JSON are ignored.
   */
  text(blockId: string, delta: string): void {
    this.readFrom(`text ${messageIdOf(blockId)}`);
    if (this.#hasBegun) return this.push(delta);
    const text = this.#textSoFar + delta;
    const jsonStart = text.search(startOfJson);
    this.#hasBegun = jsonStart >= 0;
    this.#textSoFar = text.slice(-maxBeginningLength);
    if (this.#hasBegun) this.push(text.slice(jsonStart));
  }

  /** Reads the next piece of the arguments of a call of the output tool. */
  input(toolUseId: string, delta: string): void {
    this.readFrom(`call ${toolUseId}`);
    this.push(delta);
  }

  /** Whether the object comes from a call, whose arguments may wrap it. */
  protected get isCall(): boolean {
    return this.#source?.startsWith('call') === true;
  }

  protected readFrom(source: string | undefined): void {
    if (source !== undefined && source === this.#source) return;
    this.#source = source;
    this.#hasBegun = false;
    this.#textSoFar = '';
    this.begin();
  }

  /** Forgets the JSON so far. The next piece is of another one. */
  protected abstract begin(): void;

  protected abstract push(piece: string): void;
}
