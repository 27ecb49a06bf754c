import type { RequestDraft, Step } from '../../agent/middleware.ts';
import { isEnding, isNewAnswer, type Answer, type Ending, type Next } from '../../agent/next.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { ContentBlock, ToolResult } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { parseJson } from '../../message/json/parse-json.ts';
import { textOf, toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { outputToolName } from '../../message/output-tool.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import type { Schema } from '../../schema/schema.ts';
import type { Tool } from '../../tool/tool.ts';
import { lastAnswer, type LimitReply, type LimitSteps } from '../limits/summarize.ts';
import type { OutputMode } from './output-mode.ts';

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
  readonly schema: Schema<unknown>;
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

export interface ValueModeOptions {
  /** Name of the function in error messages, such as `structured()`. */
  readonly where: string;
  /** Number of invalid answers after which the agent call fails. */
  readonly attempts: number;
  /** Returns the form of the value in one run, after the guards have judged the input. */
  readonly form: (context: RunContext, steps: Steps) => ValueForm;
}

/**
 * Creates an output mode. Its value is in the last reply: in the text, or in a call of its tool.
 * Several runs may share it. Throws `CONFIGURATION` for an invalid number of attempts.
 */
export function valueMode({ where, attempts, form }: ValueModeOptions): OutputMode {
  if (!Number.isInteger(attempts) || attempts < 1) {
    const message = `${where}: attempts must be a whole number of 1 or more, not ${String(attempts)}.`;
    throw new AgentError('CONFIGURATION', message);
  }
  const runs = new WeakMap<RunContext, ValueRun>();
  const runOf = (context: RunContext): ValueRun => runs.get(context)!;
  return [
    {
      name: 'output',
      onError: 'fail',
      on: {
        // Later than `wrapRun`, in which other middleware hides tools.
        'pre-call': {
          priority: -10_000,
          handle: (_event, _control, context) => runOf(context).begin(where, form),
        },
      },
      wrapRun: (next) => (input, context, steps) => {
        runs.set(context, new ValueRun(context, steps, attempts));
        return next(input, context);
      },
      wrapSettle: (next) => async (input, context) => {
        const run = runOf(context);
        const made = await next(input, context);
        const isJudged = isEnding(made) && made.isStored && made.message;
        return isJudged ? run.judgeStored({ ...made, message: made.message }) : made;
      },
      wrapRequest: (next) => (draft, context) => runOf(context).request(draft, next),
      wrapReply: (next) => async (reply, context) => {
        // The output of a tool is no value.
        if (reply.reason !== 'stop') return { to: 'model' };
        const run = runOf(context);
        const made = await next(reply, context);
        return isNewAnswer(made, context) ? run.judge(made) : made;
      },
    },
    lastAnswer((context, steps) => runOf(context).last(steps)),
  ];
}

/**
 * One run that has to end with a value. Counts the attempts of the model, removes their messages
 * from the session log, and creates the answer or the error.
 */
class ValueRun {
  readonly #context: RunContext;
  readonly #steps: Steps;
  #form!: ValueForm;
  /** Ids of the replies without a value, and of the questions after them. */
  readonly #own: Set<string> = new Set();
  #left: number;
  /** Whether the model was asked for the value. */
  #isAsked = false;

  constructor(context: RunContext, steps: Steps, attempts: number) {
    this.#context = context;
    this.#steps = steps;
    this.#left = attempts;
  }

  /** Makes the form of the value, and adds its tool to the run. `where`: name of the output mode. */
  begin(where: string, form: ValueModeOptions['form']): void {
    this.#form = form(this.#context, this.#steps);
    const { tool } = this.#form;
    if (!tool) return;
    if (this.#context.tools.find(tool.name)) {
      const message = `${where} reserves the tool name "${tool.name}". Rename your tool.`;
      throw new AgentError('CONFIGURATION', message);
    }
    this.#context.addTools([tool]);
  }

  /** Ends the run if a tool call has given the value. Otherwise asks the model for it. */
  async request(
    draft: RequestDraft,
    next: Step<RequestDraft, ModelRequest | Next>,
  ): Promise<ModelRequest | Next> {
    const form = this.#form;
    const given = form.tool && !draft.isAsked ? await this.#givenByCall() : undefined;
    if (given) return given;
    const made = await next({ ...draft, beside: form.beside }, this.#context);
    return 'to' in made || isEnding(made) ? made : form.request(made, this.#isAsked);
  }

  /**
   * Judges an answer. Returns the end of the run with its value, or asks the model again. Throws
   * `OUTPUT_INVALID` after the last attempt.
   */
  async judge(ending: Answer): Promise<Next> {
    const { message } = ending;
    const reading = await this.#form.read(message);
    if (reading.ok) return this.#ending(reading.found, message, ending);
    if (this.#isAsked || !this.#form.tool) await this.#fail(reading);
    this.#isAsked = true;
    return this.#again(message, this.#form.question(reading.issues));
  }

  /**
   * Returns the end of the run for an answer that an earlier run stored. The JSON that the model
   * wrote is validated again, because the schema may change values.
   */
  async judgeStored(ending: Answer): Promise<Next> {
    const { message } = ending;
    const { output, given = output } = message.metadata ?? {};
    const checked = given === undefined ? undefined : await this.#form.schema.validate(given);
    if (checked?.ok) return { ...ending, output: checked.value };
    const judged = await this.judge(ending);
    if (isEnding(judged) && judged.message && judged.message !== message)
      await this.#steps.rewrite([message.id], [judged.message]);
    return judged;
  }

  /** Asks for the value at a limit. Only one attempt is made. */
  async last(steps: LimitSteps): Promise<LimitReply> {
    const form = this.#form;
    const question = steps.message('user', form.lastQuestion);
    const messages = [...steps.refused.messages, question];
    const reply = await steps.ask(messages, (request) => form.request(request, true));
    if (reply.type === 'incomplete') return reply;
    const reading = await form.read(reply.message);
    if (!reading.ok) throw await this.#failure(reading);
    const { found } = reading;
    const answer = await this.#answer(found, reply.message, 'summary-chunk');
    const message = await steps.revise('post-summary', answer);
    return { type: 'complete', message, output: found.value };
  }

  /**
   * Returns the end of the run if the newest messages are results, and one of them is of the output
   * tool. Counts a failed attempt if the call has no valid value.
   */
  async #givenByCall(): Promise<Next | undefined> {
    const { messages } = this.#context;
    const from = messages.findLastIndex(({ role }) => role !== 'tool');
    const reply = messages[from];
    const call = reply && toolUsesOf(reply).findLast(isOutputCall);
    const results = messages.slice(from + 1).flatMap(toolResultsOf);
    const result = results.find(({ toolUseId }) => toolUseId === call?.id);
    if (!reply || !result) return undefined;
    const reading = await this.#form.read(reply, result);
    if (reading.ok) return this.#ending(reading.found, reply);
    await this.#fail(reading);
    return undefined;
  }

  async #ending(found: Found, reply: Msg, ending?: Ending): Promise<Ending> {
    const message = await this.#answer(found, reply, 'reasoning-chunk');
    return { ...ending, reason: 'stop', message, output: found.value };
  }

  /**
   * Starts another attempt. The session log keeps the reply until there is a value, so that nothing
   * is lost if the agent call ends without a value. The question is never stored.
   */
  async #again(reply: Msg, question: string): Promise<Next> {
    const steps = this.#steps;
    const asked = steps.message('user', question);
    const isStored = this.#context.messages.some(({ id }) => id === reply.id);
    const metadata = { ...reply.metadata, correction: 'reply' };
    if (reply.content.length && !isStored) await steps.append([{ ...reply, metadata }]);
    await steps.append([asked], { stored: false });
    this.#own.add(reply.id).add(asked.id);
    await steps.emit('step-reset', { reason: 'output' });
    return { to: 'model' };
  }

  /** Counts a failed attempt. Throws `OUTPUT_INVALID` after the last attempt. */
  async #fail(reading: Extract<Reading, { ok: false }>): Promise<void> {
    this.#left -= 1;
    if (this.#left < 1) throw await this.#failure(reading);
  }

  /**
   * Creates the error of an agent call without a value. Stores the raw text of the last attempt as
   * the answer, with `metadata.reason` set to `error`.
   */
  async #failure({ text, issues }: Extract<Reading, { ok: false }>): Promise<AgentError> {
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
  async #answer(
    { value, given, text: words }: Found,
    reply: Msg,
    chunk: 'reasoning-chunk' | 'summary-chunk',
  ): Promise<Msg> {
    const steps = this.#steps;
    const gone = await this.#tidy();
    const output = toJson(value, given);
    const about = isSameJson(given, output) ? { output } : { output, given };
    const text: ContentBlock = { type: 'text', text: words ?? JSON.stringify(output) };
    const shown = textOf(reply);
    if (!this.#form.tool) {
      const said = reply.content.filter(({ type }) => type !== 'tool_use');
      const others = said.filter(({ type }) => type !== 'text');
      const content = shown === text.text ? said : [...others, text];
      const message: Msg = { ...reply, content, metadata: { ...reply.metadata, ...about } };
      if (shown !== text.text)
        await steps.emit('step-reset', { reason: 'output', replacement: message });
      return message;
    }
    const thinking = lastThinking([...gone, reply]);
    const message = steps.message('assistant', [...thinking, text], { metadata: about });
    if (shown && toolUsesOf(reply).every(isOutputCall)) {
      await steps.emit('step-reset', { reason: 'output', replacement: message });
      return message;
    }
    const piece = { blockId: `${message.id}:0`, delta: text.text };
    if (chunk === 'summary-chunk') await steps.emit(chunk, piece);
    else await steps.emit(chunk, { ...piece, kind: 'text' });
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
