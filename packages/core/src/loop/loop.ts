import { AgentError } from '../error/agent-error.ts';
import type { AgentResult, StopReason } from '../event/agent-result.ts';
import type { Decision } from '../event/pending-call.ts';
import { textOf, toolUsesOf } from '../message/message-text.ts';
import type { ToolUse } from '../message/content-block.ts';
import type { RunNote } from '../memory/log/format/log-record.ts';
import type { Msg } from '../message/msg.ts';
import { ToolList } from '../tool/set/tool-list.ts';
import { checkNew, decisionsIn, toCallInput, type CallInput } from './input/call-input.ts';
import { checkDecisions } from './admission/check-decisions.ts';
import { closeCalls } from './admission/close-calls.ts';
import { pendingCalls } from './admission/pending-calls.ts';
import { pendingCallsError } from './admission/pending-calls-error.ts';
import { runRound } from './admission/run-round.ts';
import { asReply, finishWith, finishWithValue, resultOf, type Finish } from './ending.ts';
import { guardCall } from './input/guard-input.ts';
import type { Interruption } from '../event/interrupt-request.ts';
import { controlOf, firstOf, hookRejection, type Jump } from './jump.ts';
import type { FinishExtras, Move, Step } from './move.ts';
import { preReasoning } from './pre-reasoning.ts';
import { recall } from './recall.ts';
import { readReply, releasedPart } from './reply/read-reply.ts';
import { cutLeftovers, resumption, storedAnswer } from './resume.ts';
import type { Run } from './run/run.ts';

type StopRequest = Exclude<Interruption, { mode: 'pause' }>;

/** Runs one agent call: settle → reason → act → reason → … → finish. */
export async function loop(run: Run, input: CallInput | undefined): Promise<AgentResult> {
  run.throwIfOver();
  run.waits.depth += 1;
  try {
    let move: Move | undefined;
    for (;;) {
      try {
        const turn = run.pace.step(run.setup.now(), stepsOfMove);
        if (turn) await turn;
        if (move?.to === 'finish') return await finish(run, move);
        move = await (move ? take(run, move) : begin(run, input));
      } catch (thrown) {
        move = await rescue(run, move, thrown);
      }
    }
  } catch (error) {
    run.waits.lenient = true;
    await run.close('error').catch(() => {});
    throw error;
  } finally {
    run.waits.depth -= 1;
  }
}

/**
 * Number of steps that a move counts in `run.pace`. A batch of a model's deltas counts one step.
 */
const stepsOfMove = 25;

/**
 * Returns the next move after an exception. Rethrows an exception that makes the agent call fail.
 */
async function rescue(run: Run, move: Move | undefined, thrown: unknown): Step {
  if (run.waits.isAbort(thrown)) {
    const { unsaved } = run;
    const isLost = unsaved && !run.conversation.has(unsaved.id);
    return recover(run, isLost ? releasedPart(unsaved) : undefined);
  }
  // A rejection by a guard or a hook becomes the answer and is not stored. While tools run, it makes
  // the agent call fail, so it is the reason of the abort.
  const isRejection =
    AgentError.is(thrown) && (thrown.code === 'GUARD_REJECTED' || thrown.code === 'HOOK_REJECTED');
  if (!isRejection || move?.to === 'finish') throw thrown;
  return answer(run, 'rejected', thrown.message, { error: thrown.toJSON() });
}

async function begin(run: Run, input: CallInput | undefined): Step {
  if (run.refusal && !run.failure && !run.signal.aborted) throw run.refusal;
  return input ? settle(run, input) : recover(run);
}

function take(run: Run, move: Exclude<Move, Finish>): Step {
  return move.to === 'model' ? reason(run, move.ask) : act(run, move.decisions);
}

/** Begins the output mode of the call. A client may have written it, so the guards come first. */
function beginOutput(run: Run): void {
  run.output = run.options.output?.begin(run.context, run.steps);
  if (run.output?.tools) run.tools = new ToolList(run.output.tools, run.tools);
}

/**
 * Adds the input to the log and returns the first move. Afterwards each tool call in the log has a
 * result or runs next, so the loop can ask the model.
 */
async function settle(run: Run, input: CallInput): Step {
  const { memory, status } = run.setup;
  const given = await guardCall(run, input);
  beginOutput(run);
  await run.waits.read(run.writes.restore(run.setup, run.signal));
  run.load(await run.waits.read(memory.read()));
  const asked: Jump[] = [];
  const messages = await preCall(run, given.messages, asked);
  const decisions = decisionsIn({ ...given, messages });
  const open = run.openCalls();
  checkDecisions(decisions, open, messages);
  const more = decisions.length ? [] : messages;
  checkNew(more, run.view);
  const beside = more.length ? given.beside : [];
  checkDecisions(beside, open, []);
  // A tool call needs no decision if it has not started and only waits for other tool calls.
  const isDecided = ({ id }: ToolUse): boolean => {
    const { started, pending } = status.calls.get(id) ?? { started: true };
    const isHeld = beside.length > 0 && !started && !pending;
    return isHeld || beside.some(({ toolUseId }) => toolUseId === id);
  };
  if (more.length && !open.every(isDecided)) await makeWay(run, open);
  const left = more.length || decisions.length ? undefined : resumption(run);
  if (left && !run.cut) await cutLeftovers(run, left);
  const notes: readonly RunNote[] = [
    { kind: 'run-begin', runId: run.id },
    ...[...decisions, ...beside].map((decision) => ({ kind: 'decision', decision }) as const),
  ];
  // New messages are written together with the notes. Without messages, nothing else would tell
  // another process that a run has begun.
  await run.writes.wait(memory.note?.(notes, { now: !more.length }));
  status.suspendedRun = run.id;
  run.injections.open();
  const first = firstOf(asked);
  if (first?.to === 'stop') keepDecisions(run, [...decisions, ...beside]);
  // The new message comes first, so that no failure can lose it. `forModel` later moves the tool
  // results before this message.
  await run.append(more);
  if (beside.length && first?.to !== 'stop') {
    const settled = await act(run, beside);
    if (settled.to !== 'model') return settled;
  }
  const prompt = run.view.findLast(isPrompt);
  run.promptId = prompt?.id;
  if (first && first.to !== 'model') {
    const move = await jump(run, first);
    return move.to === 'tools' ? { ...move, decisions } : move;
  }
  const end = left && !first && (await storedAnswer(run, left));
  if (end) return end;
  await recall(run, more.length || !prompt ? more : [prompt]);
  if (first) return jump(run, first);
  const isActing = decisions.length > 0 || left?.type === 'open-calls';
  return { to: isActing ? 'tools' : 'model', decisions };
}

/** Stores decisions in the agent's state, so that the next agent call carries them out. */
function keepDecisions(run: Run, decisions: readonly Decision[]): void {
  const { calls } = run.setup.status;
  for (const decision of decisions) {
    const { pending: waited, ...state } = calls.get(decision.toolUseId) ?? {};
    calls.set(decision.toolUseId, { ...state, waited, decision });
  }
}

/**
 * Closes the open tool calls before a new message. Throws `PENDING_TOOL_CALLS` if no middleware has
 * `closeOpenCall`.
 */
async function makeWay(run: Run, open: readonly ToolUse[]): Promise<void> {
  const closer = run.setup.use.find(({ closeOpenCall }) => closeOpenCall);
  if (!closer) throw pendingCallsError(open, run.setup.status.calls);
  await closeCalls(run, closer);
}

function isPrompt({ role, metadata }: Msg): boolean {
  return role === 'user' && !metadata?.['correction'];
}

/**
 * Runs the `pre-call` hooks. `options.preCall` decides whether the hooks may change the input.
 * AgentScope's code allows changes; its documentation does not.
 */
async function preCall(run: Run, input: readonly Msg[], asked: Jump[]): Promise<readonly Msg[]> {
  const { stop, jumpTo } = controlOf(asked, 'pre-call');
  const reject = (why: string): void => {
    run.refusal ??= hookRejection(why);
  };
  const control = { stop, jumpTo, reject };
  const isNotification = run.setup.options.preCall === 'notification';
  const event = isNotification
    ? run.event('pre-call', { input })
    : await run.modify('pre-call', { input }, control);
  if (isNotification) await run.hooks.notify(event, control);
  // After an abort, a hook that still runs has not judged the input.
  if (run.waits.abandoned) run.signal.throwIfAborted();
  if (run.refusal) throw run.refusal;
  await run.push([event]);
  return event.input;
}

/**
 * Asks the model once and returns the next move. If tool results are the direct answer, does not
 * ask the model. `isAsked`: a hook asked for the model, so tool results are no direct answer.
 */
async function reason(run: Run, isAsked?: boolean): Step {
  const { onLimit, options, status } = run.setup;
  if (status.pauseNext && !run.cut) {
    status.pauseNext = false;
    run.interrupt({ mode: 'pause' });
  }
  if (run.cut) return recover(run);
  await takeIn(run);
  // Messages from callers and hooks may contain tool calls without results, and results without
  // tool calls.
  await closeCalls(run);
  const direct = !isAsked && (await run.setup.directAnswer(run.guarding, run.steps));
  if (run.stopped) return jump(run, run.stopped);
  if (direct) return answer(run, 'return-direct', direct);
  const { iterations = 10, tokens = Infinity } = options.limits ?? {};
  const isLast = run.iteration >= iterations;
  if (isLast || run.usage.inputTokens + run.usage.outputTokens >= tokens) {
    const ask = run.output?.onLimit ?? onLimit;
    const reply = await run.waits.steps(ask(run.context, run.steps));
    if (run.stopped) return jump(run, run.stopped);
    if (reply.type === 'cut') return recover(run, reply.message);
    const { type: _type, message, ...extras } = reply;
    return finishWith(run, isLast ? 'max-iterations' : 'limit', message, extras);
  }
  const asked: Jump[] = [];
  const before = await preReasoning(run, controlOf(asked, 'pre-reasoning'));
  await run.push([before]);
  const instead = firstOf(asked);
  if (instead) return jump(run, instead);
  const request = { ...before.options, messages: before.messages, tools: before.tools };
  const reply = await readReply(run, run.output?.request(request) ?? request, 'reasoning');
  if (reply.type === 'cut') return recover(run, reply.message);
  run.unsaved = reply.message;

  const control = controlOf(asked, 'post-reasoning');
  const message = await run.revise('post-reasoning', reply.message, control);
  const next = firstOf(asked);
  if (next) return jump(run, next, message, message);
  const toolUses = toolUsesOf(message);
  if (!toolUses.length) {
    const judging = run.output?.judge(message);
    const judged = judging && (await run.waits.steps(judging));
    if (judged === 'again') return { to: 'model' };
    if (!(await run.injections.judged(run.stopSignal))) return recover(run, message);
    if (!run.injections.any) {
      return judged
        ? finishWithValue(run, judged)
        : finishWith(run, run.toolCallsLeft ? 'stop' : 'limit', message);
    }
  }
  await run.append([message]);
  return { to: toolUses.length ? 'tools' : 'model' };
}

/**
 * Appends the injected messages that guards have accepted. Waits one turn of the event loop, which
 * is enough for guards without I/O. Messages that guards still judge are appended later.
 */
async function takeIn(run: Run): Promise<void> {
  const { injections } = run;
  if (!injections.any) return;
  const oneTurn = new Promise((resolve) => setTimeout(resolve));
  await Promise.race([injections.judged(run.stopSignal), oneTurn]);
  await run.append(injections.take());
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
): Step {
  const extras = why === 'stopped-by-hook' ? { stoppedAt: at } : {};
  if (to === 'stop') return finishWith(run, why, reply, extras);
  const messages = [...toCallInput(given, run.setup).messages];
  const last = to === 'end' ? messages.pop() : undefined;
  // Do not store an empty reply.
  await run.append([...fresh, ...messages].filter(({ content }) => content.length));
  if (to !== 'end') return { to, ask: true };
  await closeCalls(run);
  if (!last) return finishWith(run, why, reply, extras);
  return answer(run, why, last, extras);
}

/**
 * Runs the open tool calls and returns the next move. `decisions`: decisions about tool calls of an
 * earlier run.
 */
async function act(run: Run, decisions?: readonly Decision[]): Step {
  const asked: Jump[] = [];
  // After a failure, such as a full store, the other tools must stop.
  await runRound(run, decisions, asked).catch((error: unknown) => run.fail(error));
  // `rescue` closes the tool calls.
  run.signal.throwIfAborted();
  // The message is read here, because a person may have edited its tool calls meanwhile.
  const message = run.view.findLast(({ role }) => role === 'assistant');
  const first = firstOf(asked);
  if (first) return jump(run, first, message);
  if (run.cut) return recover(run);
  const pending = pendingCalls(run);
  if (run.output) {
    const settled = await run.waits.steps(run.output.settled(pending));
    if (settled) return finishWithValue(run, settled);
  }
  return pending.length ? finishWith(run, 'suspended', message) : { to: 'model' };
}

/**
 * Ends an agent call that was interrupted, paused or aborted. Stores the part of the reply that
 * readers have, marked with `metadata.partial`. After an interrupt, the answer is the message of
 * the interrupt or the recovery message (AgentScope: `handleInterrupt`).
 */
async function recover(run: Run, partial?: Msg): Step {
  if (run.signal.aborted) run.waits.lenient = true;
  if (partial) await run.append([partial]);
  const last = run.view.findLast(({ role }) => role !== 'tool');
  if (run.cut === 'paused')
    return finishWith(run, 'suspended', last?.role === 'assistant' ? last : undefined);
  await closeCalls(run);
  if (run.cut === 'aborted') return finishWith(run, 'aborted', partial);
  const { recoveryMessage = 'You interrupted me. What now?' } = run.setup.options;
  const { message: given = recoveryMessage } = run.interruption as StopRequest;
  const isUsed = typeof given === 'object' && run.conversation.has(given.id);
  return answer(run, 'interrupted', isUsed ? { ...given, id: run.setup.generateId() } : given);
}

/** Ends the agent call with a message that the model did not write. */
async function answer(run: Run, why: StopReason, given: string | Msg, extras?: FinishExtras): Step {
  const message = typeof given === 'object' ? asReply(run, given) : run.message('assistant', given);
  const delta = textOf(message);
  await run.tell('reasoning-chunk', { blockId: `${message.id}:0`, kind: 'text', delta });
  const marked = { ...message, metadata: { ...message.metadata, reason: why } };
  return finishWith(run, why, marked, extras);
}

/** Passes the answer through the `post-call` hooks and returns the message that they return. */
async function callDone(run: Run, message: Msg): Promise<Msg> {
  if (run.storedAnswer !== message.id) return run.revise('post-call', message);
  // An earlier run passed the answer through the hooks before it stored the answer.
  await run.tell('post-call', { message });
  return message;
}

async function finish(run: Run, move: Finish): Promise<AgentResult> {
  let { message } = move;
  run.unsaved = move.reason === 'rejected' ? undefined : message;
  if (move.reason === 'suspended') await run.tell('suspended', { pending: pendingCalls(run) });
  if (!/aborted|interrupted|rejected/.test(move.reason)) message = await callDone(run, message);
  // An earlier step may have stored the message. If the agent call was aborted before its answer,
  // the message is empty.
  const isStored = run.conversation.has(message.id);
  if (message.content.length && move.reason !== 'rejected' && !isStored) {
    // `close` writes the answer together with the end of the run. If guards still judge messages,
    // `close` has to wait for them, so the answer is written first.
    await run.append([message], { later: !run.injections.any });
  }
  await run.close(move.reason);
  return resultOf(run, { ...move, message });
}
