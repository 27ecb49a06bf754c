import { AgentError, type AgentErrorData } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { AgentEvent, EventBatch } from '../event/agent-event.ts';
import { textOf } from '../message/message-text.ts';

export interface TextStreamOptions {
  /** A failure rejects (default), or is the stream's last text. */
  readonly errors?: 'throw' | 'in-band';
  /** The text of a failure in band; default `[MODEL_AUTH]`: its code, none of its words. */
  readonly errorText?: (error: AgentErrorData) => string;
}

/** An `AgentStream`, or the same from another thread. */
export interface TextSource {
  batches(): AsyncIterable<EventBatch>;
  cancel(): Promise<void>;
}

/** A run's text. One reader: it iterates, or takes `readable()`. */
export interface TextStream extends AsyncIterable<string> {
  /**
   * The text as UTF-8, read from the model only as it is asked for: a `Response`'s body. Cancelling
   * it cancels the run.
   */
  readable(): ReadableStream<Uint8Array>;
}

/**
 * What the agent says, and nothing else: no thinking, no tool calls, nothing of agents that it
 * calls as tools. One text a network read, never empty. The blocks of a message are set apart by a
 * line break, messages by a blank line. What was sent cannot be taken back: after a `step-reset`
 * the new words come below a blank line, where they do not go on with what was there.
 */
export function textStream(stream: TextSource, options: TextStreamOptions = {}): TextStream {
  checkFields('INVALID_INPUT', 'textStream()', stream, 'batches:function cancel:function');
  checkFields(
    'INVALID_INPUT',
    'textStream()',
    options,
    'errors:throw|in-band|? errorText:function|?',
  );
  return {
    [Symbol.asyncIterator]: () => texts(stream, options),
    readable: () => toBytes(texts(stream, options), () => stream.cancel()),
  };
}

async function* texts(
  stream: TextSource,
  { errors, errorText = codeOf }: TextStreamOptions,
): AsyncGenerator<string, void> {
  const writer = new TextWriter();
  let failure: AgentErrorData | undefined;
  try {
    for await (const batch of stream.batches()) {
      let text = '';
      // What an agent that is called as a tool says goes to its caller, not to the reader.
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
  // A run with `throwOnError: false` ends as any other.
  if (errors !== 'in-band') throw AgentError.fromJSON(failure);
  const last = errorText(failure);
  if (last) yield writer.apart() + last;
}

function codeOf({ code }: AgentErrorData): string {
  return `[${code}]`;
}

class TextWriter {
  /** The block that is being written; empty where the next one is no message's that was begun. */
  #blockId = '';
  #isEmpty = true;
  /** What was written of the message. */
  #said = '';

  write(event: AgentEvent): string {
    switch (event.type) {
      case 'pre-reasoning':
      case 'pre-summary':
        this.#blockId = this.#said = '';
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

  /** What stands between all that was written and another message. */
  apart(): string {
    return this.#isEmpty ? '' : '\n\n';
  }

  #add(blockId: string, delta: string): string {
    if (!delta) return '';
    const before = this.#blockId;
    this.#blockId = blockId;
    if (blockId === before) return this.#say(delta);
    if (messageOf(blockId) === messageOf(before)) return this.#say(`\n${delta}`);
    return this.#begin(delta);
  }

  #replace(text: string): string {
    const said = this.#said;
    this.#blockId = this.#said = '';
    if (!said || !text.startsWith(said)) return text && this.#begin(text);
    this.#said = said;
    return this.#say(text.slice(said.length));
  }

  #begin(text: string): string {
    const gap = this.apart();
    this.#said = '';
    return gap + this.#say(text);
  }

  #say(text: string): string {
    this.#said += text;
    this.#isEmpty = false;
    return text;
  }
}

/** The message of a block: its id without the block's number. */
function messageOf(blockId: string): string {
  return blockId.slice(0, blockId.lastIndexOf(':'));
}

function toBytes(
  source: AsyncGenerator<string, void>,
  cancel: () => Promise<void>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await source.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      // `source.return()` would wait for the read that is under way.
      cancel,
    },
    { highWaterMark: 0 },
  );
}
