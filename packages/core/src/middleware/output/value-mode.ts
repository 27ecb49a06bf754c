import { metadataOf, withMetadata, type MessageMetadata } from '../../message/metadata.ts';
import type {
  InnerStep,
  Middleware,
  RequestDraft,
  RunContext,
  Steps,
} from '../../agent/middleware.ts';
import {
  type Answer,
  type Ending,
  type Next,
  type StoredAnswer,
  isEnding,
  isNewAnswer,
  isNext,
} from '../../agent/next.ts';
import { perRun } from '../../agent/per-run.ts';
import { AgentError } from '../../error/agent-error.ts';
import { isSameJson, jsonCopy, type JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import type { Schema, Validation } from '../../schema/schema.ts';
import { type LimitReply, type LimitSteps, answerAtLimit } from '../answer/answer-at-limit.ts';

/** A value that passed the schema, and the JSON that the model wrote for it. */
export interface ParsedOutput {
  readonly value: unknown;
  readonly json: JsonValue;
  /** Text of the answer. Default: the value as JSON. */
  readonly text?: string;
}

/** A value for which a form creates the answer. */
export interface AnswerParts {
  /** The reply that contains the value. */
  readonly reply: Msg;
  /** Messages of the attempts, which the answer replaces. */
  readonly removed: readonly Msg[];
  /** Text of the answer. */
  readonly text: string;
  /** Metadata of the answer: the value, and the JSON that the model wrote. */
  readonly metadata: Pick<MessageMetadata, 'output' | 'outputJson'>;
  /** Type of the event with which readers get a text that no reply has. */
  readonly chunk: 'reasoning-chunk' | 'summary-chunk';
}

/** The form in which the model gives the value of one run. */
export interface ValueForm {
  readonly schema: Schema<unknown>;
  /** Whether the first reply without a value is no failed attempt, and only gets a reminder. */
  readonly isReminded?: boolean;
  /** Message that `request` adds. Context policies count its tokens. */
  readonly addedLater?: Msg;
  /** Question for the value at a limit. */
  readonly lastQuestion: string;
  /**
   * Returns a changed copy of a model request. `isAsked`: the model was asked for the value and has
   * to give it now.
   */
  request(request: ModelRequest, isAsked: boolean): ModelRequest;
  /** Reads the value from a reply. */
  read(reply: Msg): Promise<Validation<ParsedOutput>>;
  /** Returns what the model wrote as the value, for the error. */
  written(reply: Msg): string;
  /**
   * Reads the value from the newest results of tool calls. Returns `undefined` if none of them is
   * for the value. Absent if no tool takes the value.
   */
  readResults?(
    messages: readonly Msg[],
  ): Promise<{ readonly reply: Msg; readonly reading: Validation<ParsedOutput> } | undefined>;
  /** Returns the question after a reply without a valid value. */
  question(issues: readonly string[]): string;
  /** Creates the answer, and sends its text to the readers unless they have it. */
  answer(about: AnswerParts): Promise<Msg>;
  /** Returns a message of the log without its part of an attempt, or `undefined` if nothing is left. */
  withoutAttempt?(message: Msg): Msg | undefined;
}

/**
 * Creates an output mode. Its value is in the last reply. `formOf` returns the form of the value in
 * one run, after the guards have checked the input. The agent call fails after `attempts` invalid
 * answers. Several runs may share the output mode.
 */
export function valueMode(
  attempts: number,
  formOf: (context: RunContext, steps: Steps) => ValueForm,
): OutputMode {
  const valueRun = perRun(
    (context, steps) => new ValueRun(formOf(context, steps), context, steps, attempts),
  );
  return [
    {
      name: 'output',
      wrapSettle: (next) => async (input, context) => {
        const run = valueRun(context);
        const outcome = await next(input);
        const isStored = isEnding(outcome) && outcome.kind === 'stored';
        return isStored ? run.checkStored(outcome) : outcome;
      },
      wrapRequest: (next) => (draft, context) => valueRun(context).request(draft, next),
      wrapReply: (next) => async (reply, context) => {
        // The output of a tool is no value.
        if (!reply.request) return { to: 'model' };
        const outcome = await next(reply);
        return isNewAnswer(outcome) ? valueRun(context).check(outcome) : outcome;
      },
    },
    answerAtLimit({ answer: (context, steps) => valueRun(context).last(steps) }),
  ];
}

/**
 * One run that has to end with a value. Counts the attempts of the model, removes their messages
 * from the session log, and creates the answer or the error.
 */
class ValueRun {
  readonly #context: RunContext;
  readonly #steps: Steps;
  readonly #form: ValueForm;
  /** Ids of the replies without a value, and of the questions after them. */
  readonly #attemptIds: Set<string> = new Set();
  #left: number;
  /** Whether the model was asked for the value. */
  #isAsked = false;

  constructor(form: ValueForm, context: RunContext, steps: Steps, attempts: number) {
    this.#form = form;
    this.#context = context;
    this.#steps = steps;
    this.#left = attempts;
  }

  /** Ends the run if a tool call has given the value. Otherwise asks the model for it. */
  async request(
    draft: RequestDraft,
    next: InnerStep<RequestDraft, ModelRequest | Next>,
  ): Promise<ModelRequest | Next> {
    const form = this.#form;
    const read = draft.mustAnswer ? undefined : form.readResults?.(this.#context.messages);
    const found = await read;
    if (found) {
      const { reading, reply } = found;
      if (reading.ok) return this.#ending({ kind: 'answer' }, reading.value, reply);
      await this.#fail(reading.issues, reply);
    }
    const { addedLater: own } = form;
    const addedLater = own ? [...draft.addedLater, own] : draft.addedLater;
    const request = await next({ ...draft, addedLater });
    return isNext(request) ? request : form.request(request, this.#isAsked);
  }

  /**
   * Reads the value from an answer. Returns the end of the run with its value, or asks the model
   * again. Throws `OUTPUT_INVALID` after the last attempt.
   */
  async check(ending: Answer | StoredAnswer): Promise<Next> {
    const { message } = ending;
    const reading = await this.#form.read(message);
    if (reading.ok) return this.#ending(ending, reading.value, message);
    if (this.#isAsked || !this.#form.isReminded) await this.#fail(reading.issues, message);
    this.#isAsked = true;
    return this.#again(message, this.#form.question(reading.issues));
  }

  /**
   * Returns the end of the run for an answer that an earlier run stored. The JSON that the model
   * wrote is validated again, because the schema may change values.
   */
  async checkStored(ending: StoredAnswer): Promise<Next> {
    const { message } = ending;
    const { output, outputJson = output } = metadataOf(message);
    if (outputJson !== undefined) {
      const validation = await this.#form.schema.validate(outputJson);
      if (validation.ok) return { ...ending, output: validation.value };
    }
    const outcome = await this.check(ending);
    if (isEnding(outcome) && outcome.message && outcome.message !== message)
      await this.#steps.edit({ remove: [message.id], append: [outcome.message] });
    return outcome;
  }

  /** Asks for the value at a limit. Only one attempt is made. */
  async last(steps: LimitSteps): Promise<LimitReply> {
    const form = this.#form;
    const question = steps.message('user', form.lastQuestion);
    const messages = [...steps.refused.messages, question];
    const reply = await steps.ask(messages, (request) => form.request(request, true));
    if (reply.type === 'incomplete') return reply;
    const reading = await form.read(reply.message);
    if (!reading.ok) throw await this.#failure(reading.issues, reply.message);
    const parsedOutput = reading.value;
    const answer = await this.#answer(parsedOutput, reply.message, 'summary-chunk');
    const { event } = await steps.revise('post-summary', { message: answer });
    return { type: 'complete', message: event.message, output: parsedOutput.value };
  }

  async #ending(
    ending: Pick<Answer | StoredAnswer, 'kind'>,
    parsedOutput: ParsedOutput,
    reply: Msg,
  ): Promise<Ending> {
    const message = await this.#answer(parsedOutput, reply, 'reasoning-chunk');
    return { ...ending, reason: 'stop', message, output: parsedOutput.value };
  }

  /**
   * Starts another attempt. The session log keeps the reply until there is a value, so that nothing
   * is lost if the agent call ends without a value. The question is never stored.
   */
  async #again(reply: Msg, question: string): Promise<Next> {
    const steps = this.#steps;
    const asked = steps.message('user', question);
    const isStored = this.#context.messages.some(({ id }) => id === reply.id);
    if (reply.content.length && !isStored)
      await steps.edit({ append: [withMetadata(reply, { correction: 'reply' })] });
    steps.include([asked], 'last');
    this.#attemptIds.add(reply.id).add(asked.id);
    await steps.emit('step-reset', { reason: 'output' });
    return { to: 'model' };
  }

  /** Counts a failed attempt. Throws `OUTPUT_INVALID` after the last attempt. */
  async #fail(issues: readonly string[], reply: Msg): Promise<void> {
    this.#left -= 1;
    if (this.#left < 1) throw await this.#failure(issues, reply);
  }

  /**
   * Creates the error of an agent call without a value. Stores the raw text of the last attempt as
   * the answer, with `metadata.reason` set to `error`.
   */
  async #failure(issues: readonly string[], reply: Msg): Promise<AgentError> {
    const steps = this.#steps;
    const text = this.#form.written(reply);
    await this.#removeAttempts();
    if (text) {
      const last = steps.message('assistant', text, { metadata: { reason: 'error' } });
      steps.addToResult({ failureMessage: last });
      await steps.edit({ append: [last] });
    }
    const why = `The model returned no value that fits the schema: ${issues.join('; ')}`;
    return new AgentError('OUTPUT_INVALID', why, { details: { issues, text } });
  }

  /**
   * Creates the answer with a value. It replaces all messages of the attempts. `reply`: the message
   * that contains the value.
   */
  async #answer(
    { value, json, text: ownText }: ParsedOutput,
    reply: Msg,
    chunk: 'reasoning-chunk' | 'summary-chunk',
  ): Promise<Msg> {
    const removed = await this.#removeAttempts();
    // A value without a JSON form becomes the JSON that the model wrote.
    const copy = jsonCopy(value);
    const output = copy === undefined ? json : copy;
    const metadata = isSameJson(json, output) ? { output } : { output, outputJson: json };
    const text = ownText ?? JSON.stringify(output);
    return this.#form.answer({ reply, removed, text, metadata, chunk });
  }

  /** Removes the messages of the attempts from the session log. Returns the removed messages. */
  async #removeAttempts(): Promise<readonly Msg[]> {
    const { messages, questionId } = this.#context;
    const { withoutAttempt = (message) => message } = this.#form;
    const from = messages.findIndex(({ id }) => id === questionId) + 1;
    const removed: Msg[] = [];
    const appended: Msg[] = [];
    for (const message of messages.slice(from)) {
      const rest = this.#attemptIds.has(message.id) ? undefined : withoutAttempt(message);
      if (!rest) removed.push(message);
      // A changed message is appended at the end of the log, so the messages after it must be
      // appended again.
      else if (rest !== message || appended.length) appended.push(rest);
    }
    const ids = [...removed, ...appended].map(({ id }) => id);
    if (ids.length) await this.#steps.edit({ remove: ids, append: appended });
    return removed;
  }
}

/**
 * A way to get a typed value from the model, such as `structured()`: the middleware that an agent
 * call gets with its option `output`.
 */
export type OutputMode<T = unknown> = readonly Middleware[] & {
  /** Carries only the type of the value. Never set. */
  readonly of?: () => T;
};

/** Makes the compiler say what to do with a schema that is used as an output mode. */
export interface NoSchema {
  readonly '~standard'?: 'Wrap the schema: structured(schema)';
}
