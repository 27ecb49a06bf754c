import { AgentError, type AgentErrorData } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, oneOf, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { AgentEvent, EventBatch } from '../event/agent-event.ts';
import { onDemand } from '../event/readers/on-demand.ts';
import { messageIdOf, textOf } from '../message/msg.ts';

/** What a `textStream()` does if the agent call fails. */
export interface TextStreamOptions {
  /**
   * What happens at a failure. `throw` (default): the stream rejects. `in-band`: the stream ends
   * with a text about the failure.
   */
  readonly errors?: 'throw' | 'in-band';
  /**
   * Returns the text about a failure for `in-band`. Default: only its code, such as `[MODEL_AUTH]`.
   */
  readonly errorText?: (error: AgentErrorData) => string;
}

/** An `AgentStream`, or a stream from another thread with the same methods. */
export interface TextSource {
  batches(): AsyncIterable<EventBatch>;
  cancel(): Promise<void>;
}

/**
 * Text of a run, as pieces or as bytes. It can be read once: iterate over it, or use `readable()`.
 */
export interface TextStream extends AsyncIterable<string> {
  /**
   * Returns the text as UTF-8 bytes, for the body of a `Response`. Reads from the model only when
   * the reader asks for more. If the reader cancels the stream, the run is canceled.
   */
  readable(): ReadableStream<Uint8Array>;
}

/**
 * Streams only the agent's text. Thinking, tool calls and the output of agents that run as tools
 * are left out. Yields one text per network read, and no empty texts. A line break separates the
 * blocks of a message, and a blank line separates messages. Text that was sent cannot be taken
 * back. After a `step-reset`, the new text follows after a blank line, unless it continues the old
 * text.
 */
export function textStream(stream: TextSource, options: TextStreamOptions = {}): TextStream {
  checkFields('textStream()', stream, { batches: func, cancel: func }, 'INVALID_INPUT');
  checkOptions('textStream()', options, textStreamOptions, 'INVALID_INPUT');
  return {
    [Symbol.asyncIterator]: () => texts(stream, options),
    readable: () => onDemand(toBytes(texts(stream, options)), () => stream.cancel()),
  };
}

const textStreamOptions: OptionTable<TextStreamOptions> = {
  errors: optional(oneOf('throw', 'in-band')),
  errorText: optional(func),
};

async function* texts(
  stream: TextSource,
  { errors, errorText = codeOf }: TextStreamOptions,
): AsyncGenerator<string, void> {
  const writer = new TextWriter();
  let failure: AgentErrorData | undefined;
  try {
    for await (const batch of stream.batches()) {
      let text = '';
      // The output of an agent that runs as a tool is for the calling agent, not for the reader.
      for (const event of batch) {
        if (event.agentPath.length > 1) continue;
        if (event.type === 'error') failure = event.error;
        text += writer.write(event);
      }
      if (text) yield text;
    }
  } catch (error) {
    if (errors !== 'in-band') throw error;
    failure ??= AgentError.from(error).toJSON();
  }
  if (!failure) return;
  // With `throwOnError: false`, the run ends without an exception, so the failure is thrown here.
  if (errors !== 'in-band') throw AgentError.fromJSON(failure);
  const last = errorText(failure);
  if (last) yield writer.separator() + last;
}

function codeOf({ code }: AgentErrorData): string {
  return `[${code}]`;
}

class TextWriter {
  /** Id of the current block. Empty if the next block begins a new message. */
  #blockId = '';
  #isEmpty = true;
  /** Text of the current message that was written so far. */
  #written = '';

  write(event: AgentEvent): string {
    switch (event.type) {
      case 'pre-reasoning':
      case 'pre-summary':
        this.#blockId = this.#written = '';
        return '';
      case 'step-reset':
        return this.#replace(event.replacement ? textOf(event.replacement) : '');
      case 'reasoning-chunk':
        return event.kind === 'text' ? this.#add(event.blockId, event.delta) : '';
      case 'summary-chunk':
        return this.#add(event.blockId, event.delta);
      default:
        return '';
    }
  }

  /** Returns the separator before the next message. */
  separator(): string {
    return this.#isEmpty ? '' : '\n\n';
  }

  #add(blockId: string, delta: string): string {
    if (!delta) return '';
    const previousBlockId = this.#blockId;
    this.#blockId = blockId;
    if (blockId === previousBlockId) return this.#append(delta);
    if (messageIdOf(blockId) === messageIdOf(previousBlockId)) return this.#append(`\n${delta}`);
    return this.#begin(delta);
  }

  #replace(text: string): string {
    const textSoFar = this.#written;
    this.#blockId = this.#written = '';
    if (!textSoFar || !text.startsWith(textSoFar)) return text && this.#begin(text);
    this.#written = textSoFar;
    return this.#append(text.slice(textSoFar.length));
  }

  #begin(text: string): string {
    const gap = this.separator();
    this.#written = '';
    return gap + this.#append(text);
  }

  #append(text: string): string {
    this.#written += text;
    this.#isEmpty = false;
    return text;
  }
}

async function* toBytes(source: AsyncIterable<string>): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  for await (const text of source) yield encoder.encode(text);
}
