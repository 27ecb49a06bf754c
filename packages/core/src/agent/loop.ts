import { AgentError } from '../error/agent-error.ts';
import type { AgentResult, StopReason } from '../event/agent-result.ts';
import { checkRequest } from '../event/check-event.ts';
import { resumptionOf, type Resumption } from '../memory/log/resumption.ts';
import { textOf, toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { shownResults } from '../message/shown-results.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import { checkNew, toCallInput, type CallInput } from '../event/call-input.ts';
import type { RequestDraft, Reply, Round, SettledInput } from './middleware.ts';
import {
  controlOf,
  firstOf,
  hookRejection,
  isEnding,
  type Ending,
  type Jump,
  type Next,
} from './next.ts';
import { readReply, releasedPart } from './read-reply.ts';
import { closeCalls } from './conclude.ts';
import { openCallsOf, pendingCallsOf } from './open-calls.ts';
import { ToolRound } from './round.ts';
import { liveRunOf, type RunContext } from './run-context.ts';
import type { Run } from './run.ts';

/** Number of steps that a step of the loop counts in `run.pace`. */
const stepsOfNext = 25;

/** Runs one agent call: settle → reason → act → reason → … → finish. */
export async function loop(run: Run, input: CallInput | undefined): Promise<AgentResult> {
  run.throwIfOver();
  let next: Next | undefined;
  for (;;) {
    try {
      const turn = run.pace.step(run.now(), stepsOfNext);
      if (turn) await turn;
      if (!next) next = await begin(run, input);
      else if (isEnding(next)) return await finish(run, next);
      else next = next.to === 'model' ? await reason(run, next.isAsked) : await act(run);
    } catch (thrown) {
      next = await rescue(run, next, thrown);
    }
  }
}

/** Returns what follows an exception. Rethrows an exception that makes the agent call fail. */
async function rescue(run: Run, next: Next | undefined, thrown: unknown): Promise<Next> {
  if (run.waits.isAbort(thrown)) {
    const { unsaved } = run;
    const isLost = unsaved && !run.conversation.has(unsaved.id);
    return recover(run, isLost ? releasedPart(unsaved) : undefined);
  }
  // A rejection becomes the answer and is not stored. While tools run, it makes the agent call fail,
  // so it is the reason of the abort.
  const isRejection = AgentError.is(thrown) && /^(GUARD|HOOK)_REJECTED$/.test(thrown.code);
  if (!isRejection || (next && isEnding(next))) throw thrown;
  const message = run.message('assistant', thrown.message);
  return answer(run, message, { reason: 'rejected', error: thrown.toJSON() });
}

async function begin(run: Run, input: CallInput | undefined): Promise<Next> {
  if (run.halt.rejection) throw run.halt.rejection;
  return input && !run.halt.failure ? settle(run, input) : recover(run);
}

/** Admits the input, adds it to the log and says what comes first. */
async function settle(run: Run, given: CallInput): Promise<Next> {
  const { setup } = run;
  const input = await (run.admitted ?? setup.admit(given, run));
  await run.restore();
  run.load(await run.waits.read(setup.memory.read()));
  const asked: Jump[] = [];
  const messages = await preCall(run, input.messages, asked);
  const settled = { ...input, messages, jump: firstOf(asked) };
  return setup.settle(settled, run);
}

/**
 * Runs the `pre-call` hooks. `options.preCall` decides whether the hooks may change the input.
 * AgentScope's code allows changes; its documentation does not.
 */
async function preCall(run: Run, input: readonly Msg[], asked: Jump[]): Promise<readonly Msg[]> {
  const { stop, jumpTo } = controlOf(asked, 'pre-call');
  const reject = (why: string): void => run.halt.refuse('rejected', hookRejection(why));
  const control = { stop, jumpTo, reject };
  const isNotification = run.options.preCall === 'notification';
  const event = isNotification
    ? run.outbox.event('pre-call', { input })
    : await run.outbox.modify('pre-call', { input }, control);
  if (isNotification) await run.hooks.notify(event, control);
  // After an abort, a hook that still runs has not judged the input.
  if (run.waits.abandoned) run.signal.throwIfAborted();
  if (run.halt.rejection) throw run.halt.rejection;
  await run.outbox.push([event]);
  return event.input;
}

/**
 * Adds the input to the log. Afterwards each tool call in the log has a result or runs next, so the
 * loop can ask the model. This is the innermost step of `wrapSettle`.
 */
export async function settleInput(input: SettledInput, context: RunContext): Promise<Next> {
  const run = liveRunOf(context);
  const { messages, decisions } = input;
  checkNew(messages, run.messages);
  checkOpenCalls(run, input);
  const left = messages.length || decisions.length ? undefined : resumption(run);
  if (left && !run.stopped) await removeLeftovers(run, left);
  const notes = decisions.map((decision) => ({ kind: 'decision', decision }) as const);
  keepStates(run, input);
  // New messages are written together with the notes. Without messages, nothing else would tell
  // another process that a run has begun.
  await run.note([{ kind: 'run-begin', runId: run.runId }, ...notes], { now: !messages.length });
  run.setup.status.suspendedRun = run.runId;
  // The new message comes first, so that no failure can lose it. `closeCalls` later moves the
  // results of open calls before this message.
  await run.append(messages);
  run.promptId = run.messages.findLast(isPrompt)?.id;
  if (input.jump) return jump(run, input.jump);
  if (left?.answer) return storedAnswer(run, left.answer);
  const isActing = decisions.length > 0 || left?.type === 'open-calls';
  return { to: isActing ? 'tools' : 'model' };
}

/** Makes sure that the agent has a state of each decided call, for the note about it. */
function keepStates(run: Run, { decisions }: CallInput): void {
  const { calls } = run.setup.status;
  const decided = new Set(decisions.map(({ toolUseId }) => toolUseId));
  for (const { toolUse, state, isKnown } of openCallsOf(run)) {
    if (!isKnown && decided.has(toolUse.id)) calls.set(toolUse.id, state);
  }
}

function isPrompt({ role, metadata }: Msg): boolean {
  return role === 'user' && !metadata?.['correction'];
}

/**
 * Throws `PENDING_TOOL_CALLS` if a new message arrives while tool calls wait. A call needs no
 * decision if it has not started and only waits for other calls.
 */
function checkOpenCalls(run: Run, { messages, decisions }: CallInput): void {
  const decided = new Set(decisions.map(({ toolUseId }) => toolUseId));
  const open = openCallsOf(run);
  const isLeft = open.some(({ toolUse, state: { started, pending } }) => {
    const isDeferred = decided.size > 0 && !started && !pending;
    return !isDeferred && !decided.has(toolUse.id);
  });
  if (!messages.length || !isLeft) return;
  const names = open.map(
    ({ toolUse: { id, name }, state }) => `"${name}" (${id}, ${state.pending?.kind ?? 'open'})`,
  );
  const message = `Tool calls wait for their results: ${names.join(', ')}. Send decisions or results for them first, or continue the run.`;
  const details = { ids: open.map(({ toolUse }) => toolUse.id) };
  throw new AgentError('PENDING_TOOL_CALLS', message, { details });
}

/**
 * Returns how an agent call without input continues from the log. Throws `INVALID_INPUT` if there
 * is nothing to continue.
 */
function resumption(run: Run): Resumption {
  const { memory, status, name } = run.setup;
  // A memory without `note` does not store whether the run of its last answer has ended.
  const openRun = memory.note && status.suspendedRun;
  const found = resumptionOf({ messages: run.messages, openRun });
  if (found.type !== 'nothing') return found;
  const speaker = run.messages.at(-1)?.name;
  // The agent observed a message of another agent and has not answered it (AgentScope: `observe`).
  if (speaker !== undefined && speaker !== name) return { type: 'unanswered', cut: [] };
  throw new AgentError('INVALID_INPUT', 'The call needs an input.');
}

/**
 * Removes partial replies and messages of an interrupt from the end of the log. The note of the new
 * run, which comes next, stores this change.
 */
async function removeLeftovers(run: Run, { cut }: Resumption): Promise<void> {
  if (!cut.length) return;
  const ids = cut.map(({ id }) => id);
  await run.write(run.setup.memory.delete(ids, { later: true }));
  run.conversation.replace(run.messages.filter((message) => !cut.includes(message)));
  await run.outbox.tell('step-reset', { reason: 'resume' });
}

/** Ends with an answer that an earlier run stored. Readers get it again. */
async function storedAnswer(run: Run, message: Msg): Promise<Ending> {
  await run.outbox.tell('step-reset', { reason: 'resume' });
  await tellText(run, message);
  return { reason: 'stop', message, isStored: true };
}

function tellText(run: Run, message: Msg): Promise<void> {
  const blockId = `${message.id}:0`;
  return run.outbox.tell('reasoning-chunk', { blockId, kind: 'text', delta: textOf(message) });
}

/** Asks the model once and returns what follows its reply. */
async function reason(run: Run, isAsked = false): Promise<Next> {
  if (run.stopped) return recover(run);
  // Messages from callers and hooks may contain tool calls without results, and results without
  // tool calls.
  await closeCalls(run);
  const made = await run.setup.makeRequest(draft(run, isAsked), run);
  if ('to' in made || isEnding(made)) return made;
  const reply = await readReply(run, made);
  if (reply.type === 'incomplete') return recover(run, reply.message);
  run.unsaved = reply.message;
  return run.setup.takeReply({ message: reply.message, request: made, reason: 'stop' }, run);
}

function draft(run: Run, isAsked: boolean): RequestDraft {
  const { iterations = 10, resultLength } = run.options.limits;
  const head = run.head();
  run.ownMessages = shownResults([...head, ...run.messages], resultLength);
  return {
    messages: run.ownMessages,
    head: head.length,
    tools: run.toolSchemas,
    options: run.generate,
    isAsked,
    limit: run.iteration >= iterations ? 'max-iterations' : undefined,
  };
}

/**
 * Passes the next model request through the `pre-reasoning` hooks. This is the innermost step of
 * `wrapRequest`.
 */
export async function makeRequest(
  given: RequestDraft,
  context: RunContext,
): Promise<ModelRequest | Next> {
  const run = liveRunOf(context);
  const { messages, tools, options, limit } = given;
  if (!limit) run.iteration += 1;
  const asked: Jump[] = [];
  try {
    if (limit) return { reason: limit, refused: given };
    // To check a long request that nobody changed would be slow.
    if (messages !== run.ownMessages) checkRequest(messages);
    const control = controlOf(asked, 'pre-reasoning');
    const event = await run.outbox.modify('pre-reasoning', { messages, tools, options }, control);
    await run.outbox.push([event]);
    const instead = firstOf(asked);
    if (instead) return await jump(run, instead);
    return { ...event.options, messages: event.messages, tools: event.tools };
  } catch (thrown) {
    // The iteration does not count, because readers have seen none of its events.
    if (!limit && run.waits.isAbort(thrown)) run.iteration -= 1;
    throw thrown;
  }
}

/**
 * Passes a reply through the `post-reasoning` hooks and says what follows it. This is the innermost
 * step of `wrapReply`.
 */
export async function takeReply(given: Reply, context: RunContext): Promise<Next> {
  const run = liveRunOf(context);
  if (given.reason !== 'stop') return answer(run, given.message, { reason: given.reason });
  const asked: Jump[] = [];
  const control = controlOf(asked, 'post-reasoning');
  const message = await run.outbox.revise('post-reasoning', given.message, control);
  const instead = firstOf(asked);
  if (instead) return jump(run, instead, message, message);
  if (!toolUsesOf(message).length) return { reason: 'stop', message };
  await run.append([message]);
  return { to: 'tools' };
}

/** Runs the open tool calls and returns what follows. */
async function act(run: Run): Promise<Next> {
  try {
    return await run.setup.runRound({ calls: openCallsOf(run) }, run);
  } catch (error) {
    // After a failure, such as a full store, the other tools must stop. `rescue` closes the calls.
    run.fail(error);
    throw run.signal.reason;
  }
}

/** Runs these tool calls and says what follows. This is the innermost step of `wrapRound`. */
export async function runRound(round: Round, context: RunContext): Promise<Next> {
  const run = liveRunOf(context);
  const instead = await new ToolRound(run).run(round);
  run.signal.throwIfAborted();
  // The message is read here, because a person may have edited its tool calls meanwhile.
  const message = run.messages.findLast(({ role }) => role === 'assistant');
  if (instead) return jump(run, instead, message);
  if (run.stopped) return recover(run);
  return pendingCallsOf(run).length ? { reason: 'suspended', message } : { to: 'model' };
}

/**
 * Carries out a hook's jump. `reply`: the model's last message. `fresh`: the same message, if it is
 * not in the log yet.
 */
async function jump(
  run: Run,
  { at, to, messages: given, reason: why = 'stopped-by-hook' }: Jump,
  reply?: Msg,
  ...fresh: Msg[]
): Promise<Next> {
  const ending: Ending = {
    reason: why,
    message: reply,
    ...(why === 'stopped-by-hook' && { stoppedAt: at }),
  };
  if (to === 'stop') return ending;
  const messages = [...toCallInput(given, run.setup).messages];
  const last = to === 'end' ? messages.pop() : undefined;
  // Do not store an empty reply.
  await run.append([...fresh, ...messages].filter(({ content }) => content.length));
  if (to === 'model') return { to, isAsked: true };
  if (to === 'tools') return { to };
  await closeCalls(run);
  return last ? answer(run, last, ending) : ending;
}

/**
 * Ends an agent call that was interrupted, paused or aborted. Stores the part of the reply that
 * readers have, marked with `metadata.partial`. After an interrupt, the answer is the message of
 * the interrupt or the recovery message (AgentScope: `handleInterrupt`).
 */
export async function recover(run: Run, partial?: Msg): Promise<Ending> {
  if (run.signal.aborted) run.waits.toleratesHangs = true;
  if (partial) await run.append([partial]);
  const last = run.messages.findLast(({ role }) => role !== 'tool');
  if (run.stopped === 'suspended')
    return { reason: 'suspended', message: last?.role === 'assistant' ? last : undefined };
  await closeCalls(run);
  const { halt, options, setup } = run;
  const by = halt.interruption;
  if (by?.reason !== 'interrupted') return { reason: 'aborted', message: partial };
  const { message: given } = by;
  if (!given) {
    const { recoveryMessage = 'You interrupted me. What now?' } = options;
    return answer(run, run.message('assistant', recoveryMessage), { reason: 'interrupted' });
  }
  const isUsed = run.conversation.has(given.id);
  const message = isUsed ? { ...given, id: setup.generateId() } : given;
  return answer(run, message, { reason: 'interrupted' });
}

/**
 * Ends the agent call with a message that the model did not write. `finish` tells its text, because
 * an abort while a wrapper waits here would lose an answer that readers have.
 */
function answer(run: Run, given: Msg, ending: Ending): Ending {
  const message = run.asReply(given);
  const metadata = { ...message.metadata, reason: ending.reason };
  return { ...ending, message: { ...message, metadata }, tell: true };
}

/** Reasons of agent calls whose last message is no answer for the `post-call` hooks. */
const withoutAnswer: readonly StopReason[] = ['aborted', 'interrupted', 'rejected'];

/** Passes the answer through the hooks, and stores it and the end of the run. */
async function finish(run: Run, ending: Ending): Promise<AgentResult> {
  run.stage = 'ending';
  let { message = run.message('assistant', []) } = ending;
  run.unsaved = ending.reason === 'rejected' ? undefined : message;
  if (ending.tell) await tellText(run, message);
  if (ending.reason === 'suspended')
    await run.outbox.tell('suspended', { pending: pendingCallsOf(run) });
  // An earlier run passed a stored answer through the hooks.
  if (ending.isStored) await run.outbox.tell('post-call', { message });
  else if (!withoutAnswer.includes(ending.reason))
    message = await run.outbox.revise('post-call', message);
  // If the agent call was aborted before its answer, the message is empty.
  const isInLog = run.conversation.has(message.id);
  if (message.content.length && ending.reason !== 'rejected' && !isInLog) {
    // `close` writes the answer together with the end of the run, unless it has to wait before.
    await run.append([message], { later: !run.lastWork.length });
  }
  await run.close(ending.reason);
  return resultOf(run, { ...ending, message });
}

/** Returns the result of an agent call that ends in this way. */
export function resultOf(run: Run, ending: Ending): AgentResult {
  const { refused: _refused, isStored: _isStored, tell: _tell, ...ended } = ending;
  const { message = run.message('assistant', []) } = ending;
  const { memory, now } = run.setup;
  return {
    text: textOf(message),
    ...(ended as Omit<typeof ended, 'message'>),
    message,
    ...(run.warnings[0] && { warnings: run.warnings }),
    usage: run.usage,
    toolsUsed: toolsUsedBy(run),
    durationMs: now() - run.startedAt,
    iterations: run.iteration,
    pending: pendingCallsOf(run),
    sessionVersion: memory.sessionVersion ?? 0,
  } as AgentResult;
}

/** Returns the names of the used tools, in the order of the calls. */
function toolsUsedBy({ toolsUsed, messages }: Run): readonly string[] {
  if (!toolsUsed.size) return [];
  const names = messages.flatMap(toolUsesOf).map(({ id }) => toolsUsed.get(id));
  return [...new Set(names)].filter((name) => name !== undefined);
}
