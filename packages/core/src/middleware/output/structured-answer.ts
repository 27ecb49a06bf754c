import { AgentError } from '../../error/agent-error.ts';
import type { ContentBlock } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { textOf, toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { parseJson } from '../../message/json/parse-json.ts';
import type { Schema } from '../../schema/schema.ts';
import { outputToolName } from '../../message/output-tool.ts';
import type { LoopSteps } from '../../agent/steps.ts';
import type { OutputAnswer } from './output-mode.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { TextFormat } from './text-format.ts';

/** Settings of an output mode, such as `structured()`. */
export interface OutputSpec {
  readonly schema: Schema<unknown>;
  readonly attempts: number;
  readonly forceTool: boolean;
  readonly responseSchema: boolean | undefined;
  /** Text format of the value. Default JSON. */
  readonly format?: TextFormat;
}

/** A value that passed the schema, and the JSON that the model wrote for it. */
export interface Found {
  readonly value: unknown;
  readonly given: JsonValue;
  /** Text of the answer. Default: the value as JSON. */
  readonly text?: string;
}

/**
 * Attempts of one run to get a value. Counts the attempts, removes their messages from the session
 * log, and creates the answer or the error.
 */
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
   * Starts another attempt. The session log keeps the reply until there is a value, so that nothing
   * is lost if the agent call ends without a value. `prompt` is never stored.
   */
  async again(reply: Msg, prompt: string): Promise<'again'> {
    const steps = this.#steps;
    const question = steps.message('user', prompt);
    const isStored = this.#context.messages.some(({ id }) => id === reply.id);
    const metadata = { ...reply.metadata, correction: 'reply' };
    if (reply.content.length && !isStored) await steps.append([{ ...reply, metadata }]);
    steps.show([question]);
    this.#own.add(reply.id).add(question.id);
    await steps.notify('step-reset', { reason: 'output' });
    return 'again';
  }

  /** Counts a failed attempt. Throws `OUTPUT_INVALID` after the last attempt. */
  async fail(text: string, issues: readonly string[]): Promise<void> {
    this.#left -= 1;
    if (this.#left < 1) throw await this.failure(text, issues);
  }

  /**
   * Creates the error of an agent call without a value. Stores the raw text of the last attempt as
   * the answer, with `metadata.reason` set to `error`.
   */
  async failure(text: string, issues: readonly string[]): Promise<AgentError> {
    const steps = this.#steps;
    await this.#tidy();
    if (text) {
      const last = steps.message('assistant', text, { metadata: { reason: 'error' } });
      steps.leave(last);
      await steps.append([last]);
    }
    const why = `The model returned no value that fits the schema: ${issues.join('; ')}`;
    return new AgentError('OUTPUT_INVALID', why, { details: { issues, text } });
  }

  /**
   * Creates the answer with a value. It replaces all messages of the attempts. `reply` is the
   * message that contains the value.
   */
  async answer(
    { value, given, text: words }: Found,
    reply: Msg,
    chunk: 'reasoning-chunk' | 'summary-chunk',
  ): Promise<Msg> {
    const steps = this.#steps;
    const gone = await this.#tidy();
    const output = toJson(value, given);
    const about = isSameJson(given, output) ? { output } : { output, given };
    const text: ContentBlock = { type: 'text', text: words ?? JSON.stringify(output) };
    const calls = toolUsesOf(reply);
    const shown = textOf(reply);
    if (!calls.length) {
      const content =
        shown === text.text
          ? reply.content
          : [...reply.content.filter(({ type }) => type !== 'text'), text];
      const message: Msg = { ...reply, content, metadata: { ...reply.metadata, ...about } };
      if (content !== reply.content)
        await steps.notify('step-reset', { reason: 'output', replacement: message });
      return message;
    }
    const message = steps.message('assistant', [...lastThinking([...gone, reply]), text], {
      metadata: about,
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
   * Removes the messages of the attempts from the session log. Calls of other tools stay. Returns
   * the removed messages.
   */
  async #tidy(): Promise<readonly Msg[]> {
    const { messages, promptId } = this.#context;
    const from = messages.findIndex(({ id }) => id === promptId) + 1;
    const gone: Msg[] = [];
    const again: Msg[] = [];
    for (const message of messages.slice(from)) {
      const left = this.#own.has(message.id) ? undefined : withoutOutputCalls(message);
      if (!left) gone.push(message);
      // A changed message is appended at the end of the log, so the messages after it must be
      // appended again.
      else if (left !== message || again.length) again.push(left);
    }
    const ids = [...gone, ...again].map(({ id }) => id);
    if (ids.length) await this.#steps.rewrite(ids, again);
    return gone;
  }
}

/**
 * Returns the value of an answer that an earlier run stored. The JSON that the model wrote is
 * validated again, because the schema may change values.
 */
export async function storedValue(
  schema: Schema<unknown>,
  message: Msg,
): Promise<OutputAnswer | undefined> {
  const { output, given = output } = message.metadata ?? {};
  if (given === undefined) return undefined;
  const checked = await schema.validate(given);
  return checked.ok ? { message, output: checked.value } : undefined;
}

export function isOutputCall({ name }: { readonly name: string }): boolean {
  return name === outputToolName;
}

/**
 * Removes the calls of the output tool from a message. Returns `undefined` if the message has
 * nothing but calls or results of that tool.
 */
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
 * Returns the model's last thinking, without signatures and provider metadata. These belong to a
 * tool call that is removed, and providers reject them without that tool call.
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

function isSameJson(one: JsonValue, other: JsonValue): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Converts the value to JSON. Returns the JSON that the model wrote if the value has no JSON form.
 */
function toJson(value: unknown, given: JsonValue): JsonValue {
  try {
    const json = parseJson(JSON.stringify(value));
    return json === undefined ? given : json;
  } catch {
    return given;
  }
}
