import { metadataOf, withMetadata } from '../message/metadata.ts';
import type { InnerStep, Middleware, RequestDraft, Run } from '../agent/middleware.ts';
import {
  type AnswerEnd,
  type Ending,
  type Next,
  type StoredEnd,
  isEnding,
  isNewAnswer,
  isNext,
} from '../agent/next.ts';
import { perRun } from '../agent/per-run.ts';
import { AgentError } from '../error/agent-error.ts';
import { isSameJson, jsonCopy } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import { incompleteReason } from '../model/finish-reason.ts';
import type { LimitReply, ReachedLimit } from '../answer/on-limit.ts';
import { answerAtLimit } from '../answer/answer-at-limit.ts';
import { freeChoice } from './free-choice.ts';
import type { AnswerParts, OutputForm, ParsedOutput } from './output-form.ts';

/**
 * A way to get a typed output from the model, such as `structured()`: the middleware that an agent
 * call gets with its option `output`.
 */
export type OutputMode<T = unknown> = readonly Middleware[] & {
  /** Type marker, never set. */
  readonly '~types'?: () => T;
};

/** Makes the compiler say what to do with a schema that is used as an output mode. */
export interface NoSchema {
  readonly '~standard'?: 'Wrap the schema: structured(schema)';
}

/** Name of the middleware of an output mode that gets the output from the model. */
export const outputMiddleware = 'output';

/**
 * Creates an output mode. Its output is in the last reply. `formOf` returns the form of the output
 * in one run, after the guards have checked the input. The agent call fails after `attempts`
 * invalid answers. Several runs may share the output mode.
 */
export function outputMode(attempts: number, formOf: (run: Run) => OutputForm): OutputMode {
  const taskOf = perRun((run): OutputTask => {
    const form = formOf(run);
    return { form, run, attemptIds: new Set(), attemptsLeft: attempts, isAsked: false };
  });
  return [
    {
      name: outputMiddleware,
      wrapSettle: async (input, next, run) => {
        const task = taskOf(run);
        const outcome = await next(input);
        const isStored = isEnding(outcome) && outcome.kind === 'stored';
        return isStored ? checkStored(task, outcome) : outcome;
      },
      wrapRequest: (draft, next, run) => askOrEnd(taskOf(run), draft, next),
      wrapReply: async (reply, next, run) => {
        // The result of a tool is not the output.
        if (!reply.request) return { to: 'model' };
        const outcome = await next(reply);
        return isNewAnswer(outcome) ? checkAnswer(taskOf(run), outcome) : outcome;
      },
    },
    answerAtLimit({ answer: (limit, run) => askAtLimit(taskOf(run), limit) }),
    freeChoice,
  ];
}

/** What a run has to do to end with an output. */
interface OutputTask {
  readonly form: OutputForm;
  readonly run: Run;
  /** Ids of the replies without an output, and of the questions after them. */
  readonly attemptIds: Set<string>;
  attemptsLeft: number;
  /** Whether the model was asked for the output. */
  isAsked: boolean;
}

/** Ends the run if a tool call has given the output. Otherwise asks the model for it. */
async function askOrEnd(
  task: OutputTask,
  draft: RequestDraft,
  next: InnerStep<RequestDraft, ModelRequest | Next>,
): Promise<ModelRequest | Next> {
  const { form, run } = task;
  const result = await (draft.mustAsk ? undefined : form.readResults?.(run.messages));
  if (result) {
    const { reading, reply } = result;
    if (reading.ok) return endWith(task, { kind: 'answer', reason: 'stop' }, reading.value, reply);
    await countFailure(task, reading.issues, reply);
  }
  const addedLater = [...draft.addedLater, ...(form.addedLater ? [form.addedLater] : [])];
  const request = await next({ ...draft, addedLater });
  if (!isNext(request)) return form.adaptRequest(request, task.isAsked);
  // At a limit, inner middleware may end the run with an earlier reply.
  const isUnread = isNewAnswer(request) && request.output === undefined;
  return isUnread ? checkAnswer(task, request) : request;
}

/**
 * Reads the output from an answer. Returns the end of the run with its output, or asks the model
 * again. Throws `OUTPUT_INVALID` after the last attempt.
 */
async function checkAnswer(task: OutputTask, ending: AnswerEnd | StoredEnd): Promise<Next> {
  const { form } = task;
  const { message } = ending;
  const reading = await form.read(message);
  if (reading.ok) return endWith(task, ending, reading.value, message);
  if (task.isAsked || !form.isReminded) await countFailure(task, reading.issues, message);
  task.isAsked = true;
  return askAgain(task, message, form.correctionText(reading.issues));
}

/**
 * Returns the end of the run for an answer that an earlier run stored. The JSON that the model
 * wrote is validated again, because the schema may change values.
 */
async function checkStored(task: OutputTask, ending: StoredEnd): Promise<Next> {
  const { message } = ending;
  const { output, outputJson = output } = metadataOf(message);
  if (outputJson !== undefined) {
    const validation = await task.form.schema.validate(outputJson);
    if (validation.ok) return { ...ending, output: validation.value };
  }
  const outcome = await checkAnswer(task, ending);
  if (isEnding(outcome) && outcome.message && outcome.message !== message)
    await task.run.log.edit({ remove: [message.id], append: [outcome.message] });
  return outcome;
}

/** Asks for the output at a limit. Only one attempt is made. */
async function askAtLimit(task: OutputTask, limit: ReachedLimit): Promise<LimitReply> {
  const { form, run } = task;
  const question = run.createMessage('user', form.limitPrompt);
  const messages = [...limit.refused.messages, question];
  const reply = await limit.ask(messages, (request) => form.adaptRequest(request, true));
  if (reply.type === 'incomplete') return reply;
  const reading = await form.read(reply.message);
  if (!reading.ok) throw await endFailed(task, reading.issues, reply.message);
  const answer = await answerWith(task, reading.value, reply.message, 'summary-chunk');
  const { event } = await run.events.revise('post-summary', { message: answer });
  return { type: 'complete', message: event.message, output: reading.value.value };
}

async function endWith(
  task: OutputTask,
  ending: Pick<AnswerEnd, 'kind' | 'reason'> | StoredEnd,
  parsedOutput: ParsedOutput,
  reply: Msg,
): Promise<Ending> {
  const message = await answerWith(task, parsedOutput, reply, 'reasoning-chunk');
  return { ...ending, message, output: parsedOutput.value };
}

/**
 * Starts another attempt. The session log keeps the reply until there is an output, so that nothing
 * is lost if the agent call ends without an output. The question is never stored.
 */
async function askAgain(
  { run, attemptIds }: OutputTask,
  reply: Msg,
  question: string,
): Promise<Next> {
  const correction = run.createMessage('user', question);
  const isStored = run.messages.some(({ id }) => id === reply.id);
  if (reply.content.length && !isStored)
    await run.log.edit({ append: [withMetadata(reply, { correction: 'reply' })] });
  run.prompt.includeLast([correction]);
  attemptIds.add(reply.id).add(correction.id);
  await run.events.emit('step-reset', { reason: 'output' });
  return { to: 'model' };
}

/** Counts a failed attempt. Throws `OUTPUT_INVALID` after the last attempt. */
async function countFailure(
  task: OutputTask,
  issues: readonly string[],
  reply: Msg,
): Promise<void> {
  task.attemptsLeft -= 1;
  if (task.attemptsLeft < 1) throw await endFailed(task, issues, reply);
}

/**
 * Creates the error of an agent call without an output. Stores the raw text of the last attempt as
 * the answer, with `metadata.reason` set to `error`.
 */
async function endFailed(
  task: OutputTask,
  issues: readonly string[],
  reply: Msg,
): Promise<AgentError> {
  const { form, run } = task;
  const text = form.writtenText(reply);
  await removeAttempts(task);
  if (text) {
    const last = run.createMessage('assistant', text, { metadata: { reason: 'error' } });
    run.ending.addToResult({ failureMessage: last });
    await run.log.edit({ append: [last] });
  }
  const incomplete = incompleteReason(reply);
  const advice =
    incomplete === 'length' ? '. The reply was cut at its length: raise maxTokens.' : '';
  const why = `The model returned no value that fits the schema: ${issues.join('; ')}${advice}`;
  const details = { issues, text, ...(incomplete && { incomplete }) };
  return new AgentError('OUTPUT_INVALID', why, { details });
}

/**
 * Creates the answer with an output. It replaces all messages of the attempts. `reply`: the message
 * that contains the output.
 */
async function answerWith(
  task: OutputTask,
  { value, json, text: ownText }: ParsedOutput,
  reply: Msg,
  chunk: AnswerParts['chunk'],
): Promise<Msg> {
  const removed = await removeAttempts(task);
  // A value without a JSON form becomes the JSON that the model wrote.
  const copy = jsonCopy(value);
  const output = copy === undefined ? json : copy;
  const metadata = isSameJson(json, output) ? { output } : { output, outputJson: json };
  const text = ownText ?? JSON.stringify(output);
  return task.form.answer({ reply, removed, text, metadata, chunk });
}

/** Removes the messages of the attempts from the session log. Returns the removed messages. */
async function removeAttempts({ form, run, attemptIds }: OutputTask): Promise<readonly Msg[]> {
  const { messages, questionId } = run;
  const { withoutAttempt = (message) => message } = form;
  const start = messages.findIndex(({ id }) => id === questionId) + 1;
  const removedMessages: Msg[] = [];
  const appendedMessages: Msg[] = [];
  for (const message of messages.slice(start)) {
    const rest = attemptIds.has(message.id) ? undefined : withoutAttempt(message);
    if (!rest) removedMessages.push(message);
    // A changed message is appended at the end of the log, so the messages after it must be
    // appended again.
    else if (rest !== message || appendedMessages.length) appendedMessages.push(rest);
  }
  const ids = [...removedMessages, ...appendedMessages].map(({ id }) => id);
  if (ids.length) await run.log.edit({ remove: ids, append: appendedMessages });
  return removedMessages;
}
