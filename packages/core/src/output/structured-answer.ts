import { AgentError } from '../error/agent-error.ts';
import type { ContentBlock } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';
import { textOf, toolResultsOf, toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { parseJson } from '../message/parse-json.ts';
import type { Schema } from '../schema/schema.ts';
import { outputToolName } from './output-tool.ts';
import type { LoopSteps } from '../loop/loop-steps.ts';
import type { RunContext } from '../loop/run/run-context.ts';
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
  readonly #context: RunContext;
  readonly #steps: LoopSteps;
  readonly #own: Set<string> = new Set();
  #left: number;

  constructor(context: RunContext, steps: LoopSteps, attempts: number) {
    this.#context = context;
    this.#steps = steps;
    this.#left = attempts;
  }

  /**
   * Another round: the reply is kept until there is a value, so that nothing is lost if the call
   * ends before; `prompt` is never stored.
   */
  async again(reply: Msg, prompt: string): Promise<'again'> {
    const steps = this.#steps;
    const question = steps.message('user', prompt);
    if (reply.content.length) await steps.append([reply]);
    steps.show([question]);
    this.#own.add(reply.id).add(question.id);
    await steps.notify('step-reset', { reason: 'output' });
    return 'again';
  }

  /** Counts a try that failed; throws `OUTPUT_INVALID` if it was the last. */
  async fail(text: string, issues: readonly string[]): Promise<void> {
    this.#left -= 1;
    if (this.#left < 1) throw await this.failure(text, issues);
  }

  /**
   * What a call without a value ends with; the raw text of the last try stays as its answer, marked
   * as one of a call that failed.
   */
  async failure(text: string, issues: readonly string[]): Promise<AgentError> {
    const steps = this.#steps;
    await this.#tidy();
    if (text) {
      const last = steps.message('assistant', text, { metadata: { reason: 'error' } });
      steps.leave(last);
      await steps.append([last]);
    }
    const why = `The model gave no value that fits the schema: ${issues.join('; ')}`;
    return new AgentError('OUTPUT_INVALID', why, { details: { issues, text } });
  }

  /**
   * The message that a value is answered with, in place of all that led to it. `reply` brought the
   * value.
   */
  async answer(
    { value, given, text: words }: Found,
    reply: Msg,
    chunk: 'reasoning-chunk' | 'summary-chunk',
  ): Promise<Msg> {
    const steps = this.#steps;
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
        await steps.notify('step-reset', { reason: 'output', replacement: message });
      return message;
    }
    const message = steps.message('assistant', [...lastThinking([...gone, reply]), text], {
      metadata: { output },
    });
    if (shown && calls.every(isOutputCall)) {
      await steps.notify('step-reset', { reason: 'output', replacement: message });
      return message;
    }
    const piece = { blockId: `${message.id}:0`, delta: text.text };
    if (chunk === 'summary-chunk') await steps.notify(chunk, piece);
    else await steps.notify(chunk, { ...piece, kind: 'text' });
    return message;
  }

  /**
   * Takes what only served to get the value out of the log, as the run ends; calls of other tools
   * stay. Gives what is gone.
   */
  async #tidy(): Promise<readonly Msg[]> {
    const { messages, promptId } = this.#context;
    const from = messages.findIndex(({ id }) => id === promptId) + 1;
    const gone: Msg[] = [];
    const again: Msg[] = [];
    for (const message of messages.slice(from)) {
      const left = this.#own.has(message.id) ? undefined : withoutOutputCalls(message);
      if (!left) gone.push(message);
      // The log only grows at its end: what stands behind a changed message is put there again.
      else if (left !== message || again.length) again.push(left);
    }
    const ids = [...gone, ...again].map(({ id }) => id);
    if (ids.length) await this.#steps.rewrite(ids, again);
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
