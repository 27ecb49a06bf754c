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

/** Gets the JSON of a structured answer while it arrives. */
interface AnswerSink {
  /**
   * Forgets the JSON so far, because the next piece is of another text. `isCall`: that text is the
   * arguments of the output tool, which may wrap the value.
   */
  begin(isCall: boolean): void;
  /** Takes the next piece of the JSON. */
  push(piece: string): void;
  /** Notes that the value so far is not the answer. Follows `begin`. */
  discard(): void;
}

/**
 * Finds the JSON of a structured answer while it arrives, in the text of a reply or in the
 * arguments of the output tool. Passes the JSON to the sink.
 */
export class AnswerSource {
  readonly #sink: AnswerSink;
  /** The text or call that the JSON comes from. */
  #origin: string | undefined;
  #hasBegun = false;
  /** End of the text so far, with which JSON may begin. */
  #textSoFar = '';

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

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
    this.#readFrom(undefined);
    this.#sink.discard();
  }

  /**
   * Reads the next piece of the text of a block. Text and code fences around the JSON are ignored.
   */
  text(blockId: string, delta: string): void {
    this.#readFrom(`text ${messageIdOf(blockId)}`);
    if (this.#hasBegun) return this.#sink.push(delta);
    const text = this.#textSoFar + delta;
    const jsonStart = text.search(startOfJson);
    this.#hasBegun = jsonStart >= 0;
    this.#textSoFar = text.slice(-maxBeginningLength);
    if (this.#hasBegun) this.#sink.push(text.slice(jsonStart));
  }

  /** Reads the next piece of the arguments of a call of the output tool. */
  input(toolUseId: string, delta: string): void {
    this.#readFrom(`call ${toolUseId}`, true);
    this.#sink.push(delta);
  }

  /** Reads the next piece of a text that has nothing but the object. */
  json(piece: string): void {
    this.#readFrom('json');
    this.#sink.push(piece);
  }

  #readFrom(origin: string | undefined, isCall = false): void {
    if (origin !== undefined && origin === this.#origin) return;
    this.#origin = origin;
    this.#hasBegun = false;
    this.#textSoFar = '';
    this.#sink.begin(isCall);
  }
}
