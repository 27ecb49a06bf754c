import { AgentError } from '../error/agent-error.ts';
import type { EventBatch } from '../event/agent-event.ts';
import type { ContentBlock } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';
import { textOf, toolResultsOf, toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { parseJson } from '../message/parse-json.ts';
import type { Schema } from '../schema/schema.ts';
import { outputToolName } from './output-tool.ts';
import type { Move } from '../loop/move.ts';
import type { Run } from '../loop/run.ts';
import type { TextFormat } from './text-format.ts';

/** What `structured()` was told. */
export interface OutputSpec {
  readonly schema: Schema<unknown>;
  readonly attempts: number;
  readonly forceTool: boolean;
  readonly responseSchema: boolean | undefined;
  /** How an answer in text says the value; default JSON. */
  readonly format?: TextFormat;
}

/** A value that passed the schema, and the JSON that the model gave for it. */
export interface Found {
  readonly value: unknown;
  readonly given: JsonValue;
  /** What the answer says it with; default: the value's JSON. */
  readonly text?: string;
}

/** One run's tries at a value: what they leave behind, and how they end. */
export class OutputTries {
  readonly #run: Run;
  readonly #own: Set<string> = new Set();
  #left: number;

  constructor(run: Run, attempts: number) {
    this.#run = run;
    this.#left = attempts;
  }

  /**
   * Another round: the reply is kept until there is a value, so that nothing is lost if the call
   * ends before; `prompt` is never stored.
   */
  async *again(reply: Msg, prompt: string): AsyncGenerator<EventBatch, Move> {
    const question = this.#run.message('user', prompt);
    if (reply.content.length) await this.#run.append([reply]);
    this.#run.show([question]);
    this.#own.add(reply.id).add(question.id);
    yield await this.#run.notify('step-reset', { reason: 'output' });
    return { to: 'model' };
  }

  /** Counts a try that failed; throws `OUTPUT_INVALID` if it was the last. */
  async fail(text: string, issues: readonly string[]): Promise<void> {
    if (--this.#left < 1) throw await this.failure(text, issues);
  }

  /**
   * What a call without a value ends with; the raw text of the last try stays as its answer, marked
   * as one of a call that failed.
   */
  async failure(text: string, issues: readonly string[]): Promise<AgentError> {
    const run = this.#run;
    await this.#tidy();
    if (text)
      await run.append([
        (run.remains = run.message('assistant', text, { metadata: { reason: 'error' } })),
      ]);
    const why = `The model gave no value that fits the schema: ${issues.join('; ')}`;
    return new AgentError('OUTPUT_INVALID', why, { details: { issues, text } });
  }

  /**
   * The message that a value is answered with, in place of all that led to it. `reply` brought the
   * value.
   */
  async *answer(
    { value, given, text: words }: Found,
    reply: Msg,
    chunk: 'reasoning-chunk' | 'summary-chunk',
  ): AsyncGenerator<EventBatch, Msg> {
    const run = this.#run;
    const gone = await this.#tidy();
    const output = toJson(value, given);
    const text: ContentBlock = { type: 'text', text: words ?? JSON.stringify(output) };
    const calls = toolUsesOf(reply);
    const shown = textOf(reply);
    if (!calls.length) {
      const content =
        shown === text.text
          ? reply.content
          : [...reply.content.filter(({ type }) => type !== 'text'), text];
      const message: Msg = { ...reply, content, metadata: { ...reply.metadata, output } };
      if (content !== reply.content)
        yield await run.notify('step-reset', { reason: 'output', replacement: message });
      return message;
    }
    const message = run.message('assistant', [...lastThinking([...gone, reply]), text], {
      metadata: { output },
    });
    if (shown && calls.every(isOutputCall))
      yield await run.notify('step-reset', { reason: 'output', replacement: message });
    else {
      const piece = { blockId: `${message.id}:0`, delta: text.text };
      yield await (chunk === 'summary-chunk'
        ? run.notify(chunk, piece)
        : run.notify(chunk, { ...piece, kind: 'text' }));
    }
    return message;
  }

  /**
   * Takes what only served to get the value out of the log, as the run ends; calls of other tools
   * stay. Gives what is gone.
   */
  async #tidy(): Promise<readonly Msg[]> {
    const run = this.#run;
    const from = run.view.findIndex(({ id }) => id === run.promptId) + 1;
    const gone: Msg[] = [];
    const again: Msg[] = [];
    for (const message of run.view.slice(from)) {
      const left = this.#own.has(message.id) ? undefined : withoutOutputCalls(message);
      if (!left) gone.push(message);
      // The log only grows at its end: what stands behind a changed message is put there again.
      else if (left !== message || again.length) again.push(left);
    }
    const { memory } = run.setup;
    const ids = [...gone, ...again].map(({ id }) => id);
    // Begun together, so that a store that can writes both at once.
    if (ids.length) await Promise.all([memory.delete(ids), again.length && memory.append(again)]);
    return gone;
  }
}

export function isOutputCall({ name }: { readonly name: string }): boolean {
  return name === outputToolName;
}

/** The message as it is without the output tool; nothing where it was about that alone. */
function withoutOutputCalls(message: Msg): Msg | undefined {
  const uses = toolUsesOf(message);
  if (toolResultsOf(message).some(isOutputCall) || (uses.length && uses.every(isOutputCall)))
    return undefined;
  if (!uses.some(isOutputCall)) return message;
  return {
    ...message,
    content: message.content.filter((block) => block.type !== 'tool_use' || !isOutputCall(block)),
  };
}

/**
 * The model's last thoughts, without what ties them to a call that is gone: providers refuse the
 * one without the other.
 */
function lastThinking(messages: readonly Msg[]): readonly ContentBlock[] {
  const thoughts = messages.map(({ content }) =>
    content.filter((block) => block.type === 'thinking'),
  );
  return (thoughts.findLast(({ length }) => length) ?? []).map(({ type, thinking }) => ({
    type,
    thinking,
  }));
}

/** The value as JSON; what the model gave for it where it has no JSON form. */
function toJson(value: unknown, given: JsonValue): JsonValue {
  try {
    const json = parseJson(JSON.stringify(value));
    return json === undefined ? given : json;
  } catch {
    return given;
  }
}
