import { AgentError } from '../error/agent-error.ts';
import type { EventBatch } from '../event/agent-event.ts';
import type { HookControl, JumpTarget } from '../event/hook.ts';
import type { ToolResult, ToolUse } from '../message/content-block.ts';
import { textOf, toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { inRequestOrder } from '../message/tool-pairs.ts';
import { isSuspension } from '../tool/run-call.ts';
import { ToolList } from '../tool/tool-list.ts';
import { interruptedResult } from '../tool/tool-result.ts';
import { abortables } from '../model/abortable.ts';
import { longestTimeout } from '../model/deadline.ts';
import { admitCall, suspend, type Admission } from './admit-call.ts';
import type { AgentResult, StopReason } from '../event/agent-result.ts';
import { decisionsIn, toCallInput, type AgentInput, type CallInput } from './call-input.ts';
import { fitRequest } from './fit-request.ts';
import type { Interruption } from './interrupt-request.ts';
import { summarize } from './limit.ts';
import type { FinishExtras, Move, Step } from './move.ts';
import type { Decision, PendingCall } from '../event/pending-call.ts';
import { readReply } from './read-reply.ts';
import type { Run } from './run.ts';
import { toolQueue } from './tool-queue.ts';

type Finish = Extract<Move, { to: 'finish' }>;
type StopRequest = Exclude<Interruption, { mode: 'pause' }>;

/** Where a hook asked to go; of those asked at one event, or at the events of one round of calls, the first counts. */
type Jump = readonly [to: JumpTarget | 'stop', messages?: AgentInput, reason?: StopReason];

/**
 * One call: settle → reason → act → reason → … → finish. Yields event batches, returns the result, fails after `error` and
 * `run-end`. Without `input` the call was aborted, or has failed, while it waited for its turn: nothing of it is stored.
 */
export async function* loop(run: Run, input: CallInput | undefined): AsyncGenerator<EventBatch, AgentResult> {
  const { timeoutMs } = run.setup.options.limits ?? {};
  const onTimeout = (): void => run.fail(new AgentError('CALL_TIMEOUT', `The call took longer than ${timeoutMs} ms`, { retryable: true }));
  const timer = timeoutMs && setTimeout(onTimeout, Math.min(timeoutMs, longestTimeout));
  try {
    run.output = run.options.output?.begin(run);
    if (run.output?.tools) run.tools = new ToolList(run.output.tools, run.tools);
    const resumes = input?.messages.every(({ role }) => role === 'tool') && run.setup.status.suspendedRun;
    yield await run.notify('run-start', resumes ? { resumes } : {});
    let move: Move | undefined;
    while (move?.to !== 'finish') {
      const before = move;
      try {
        move = yield* !before
          ? input
            ? settle(run, input)
            : recover(run)
          : before.to === 'model'
            ? reason(run, before.ask)
            : act(run, before.decisions);
      } catch (thrown) {
        // A guard's no, to the input or to a reply, ends the call with its words; they are not stored.
        if (before?.to === 'tools' || !AgentError.is(thrown) || thrown.code !== 'GUARD_REJECTED') throw thrown;
        move = yield* answer(run, 'rejected', thrown.message, { error: thrown.toJSON() });
      }
    }
    return yield* finish(run, move);
  } catch (thrown) {
    const error = AgentError.from(thrown);
    const data = error.toJSON();
    await run.close('error').catch(() => {});
    const result = resultOf(run, finishWith(run, 'error', run.remains, { error: data }));
    // A hook that fails on these events must not hide the failure.
    for (const event of [run.event('error', { error: data }), run.event('run-end', { result })]) {
      await run.hooks.notify(event).catch(() => {});
      yield [event];
    }
    if (run.options.throwOnError === false) return result;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Takes the input in and brings the log into a state the model can be asked about: every tool call has its result, or is about to. */
async function* settle(run: Run, input: CallInput): Step {
  const { memory, options, extensions, status, tools } = run.setup;
  let given = input.messages;
  for (const extension of extensions) {
    const verdict = (await extension.guard?.(given, { ...run.about, signal: run.signal })) ?? given;
    if (run.signal.aborted) return yield* recover(run);
    if ('error' in verdict) throw AgentError.fromJSON(verdict.error);
    given = verdict;
  }
  await memory.restore?.(status, tools);
  run.show(await memory.read());
  const messages = yield* preCall(run, given);
  const decisions = decisionsIn({ ...input, messages });
  const open = run.openCalls();
  checkDecisions(decisions, open, messages);
  const more = decisions.length ? [] : messages;
  if (open.length && more.length) {
    if (!options.pendingToolRecovery) {
      const ids = open.map(({ id }) => id);
      throw new AgentError('PENDING_TOOL_CALLS', `Tool calls wait for their results: ${ids.join(', ')}`, { details: { ids } });
    }
    yield* closeCalls(run);
  }
  const last = run.view.at(-1);
  if (last?.metadata?.['partial'] === 'paused' && !more.length) {
    await memory.delete([last.id]);
    run.view.pop();
    yield await run.notify('step-reset', { reason: 'resume' });
  } else if (!more.length && !open.length && last?.role !== 'user' && last?.role !== 'tool') {
    throw new AgentError('INVALID_INPUT', 'The call needs an input.');
  }
  await memory.note?.([{ kind: 'run-begin', runId: run.id }, ...decisions.map((decision) => ({ kind: 'decision', decision }) as const)]);
  status.suspendedRun = run.id;
  await run.append(more);
  const prompt = run.view.findLast((message) => message.role === 'user' && !message.metadata?.['correction']);
  run.promptId = prompt?.id;
  const asked = more.length || !prompt ? more : [prompt];
  for (const extension of extensions) {
    if (run.cut) break;
    const signal = run.modelSignal();
    try {
      const about = { ...run.about, messages: run.request(), context: run.context, signal };
      run.recalled.push(...(await abortables(signal)((async () => extension.recall?.(asked, about) ?? [])())));
    } catch (error) {
      if (!run.cut) throw error;
    }
  }
  return { to: open.length && !more.length ? 'tools' : 'model', decisions };
}

/** Modifiable as the reference's code has it, or a notification as its document does. */
async function* preCall(run: Run, input: readonly Msg[]): AsyncGenerator<EventBatch, readonly Msg[]> {
  if (run.setup.options.preCall === 'notification') {
    yield await run.notify('pre-call', { input });
    return input;
  }
  const event = await run.modify('pre-call', { input });
  yield [event];
  return event.input;
}

function checkDecisions(decisions: readonly Decision[], open: readonly ToolUse[], messages: readonly Msg[]): void {
  const undecided = new Map(open.map((call) => [call.id, call.name]));
  for (const { toolUseId: id, name } of decisions) {
    if (name && undecided.get(id) !== name) undecided.delete(id);
    if (!undecided.delete(id))
      throw new AgentError('INVALID_DECISION', `Tool call "${id}" is not open, of another tool, or decided twice.`);
  }
  if (decisions.length && messages.some(({ content }) => content.some(({ type }) => type !== 'tool_result'))) {
    throw new AgentError('INVALID_DECISION', 'Decisions take no other input.');
  }
}

/**
 * Asks the model once; its reply is an answer, tool calls, or cut by an interrupt or abort. Without `ask`, results that are for the
 * caller are the answer.
 */
async function* reason(run: Run, ask?: boolean): Step {
  const { onLimit = summarize(), limits } = run.setup.options;
  if (run.cut) return yield* recover(run);
  await run.append(run.injected.splice(0));
  // What came from outside may have calls without results, and results without calls.
  yield* closeCalls(run);
  const direct = !ask && (await run.setup.directAnswer(run));
  if (direct) return yield* answer(run, 'return-direct', direct);
  const { iterations = 10, tokens = Infinity } = limits ?? {};
  const isLast = run.iteration >= iterations;
  if (isLast || run.usage.inputTokens + run.usage.outputTokens >= tokens) {
    const reply = yield* (run.output?.onLimit ?? onLimit)(run);
    if (reply.type === 'cut') return yield* recover(run, reply.message);
    const { type: _type, message, ...extras } = reply;
    return finishWith(run, isLast ? 'max-iterations' : 'limit', message, extras);
  }
  run.iteration += 1;

  const messages = yield* fitRequest(run);
  const asked: Jump[] = [];
  const control = controlOf(asked);
  const before = await run.modify('pre-reasoning', { messages, tools: run.schemas(), options: run.generate }, control);
  yield [before];
  if (asked[0]) return yield* jump(run, asked[0]);
  const request = { ...before.options, messages: before.messages, tools: before.tools };
  const reply = yield* readReply(run, run.output?.request(request) ?? request, 'reasoning');
  if (reply.type === 'cut') return yield* recover(run, reply.message);

  const message = yield* run.revise('post-reasoning', reply.message, control);
  if (asked[0]) return yield* jump(run, asked[0], message, message);
  const toolUses = toolUsesOf(message);
  if (!toolUses.length && !run.injected.length) {
    return (run.output && (yield* run.output.judge(message))) ?? finishWith(run, run.toolCallsLeft ? 'stop' : 'limit', message);
  }
  await run.append([message]);
  return { to: toolUses.length ? 'tools' : 'model' };
}

function controlOf(asked: Jump[]): Partial<HookControl> {
  const jumpTo = (...where: Jump): void => void asked.push(where);
  return { jumpTo, stop: () => jumpTo('stop'), gotoReasoning: (messages) => jumpTo('model', messages) };
}

/** Goes where a hook asked to go. `reply` is the model's last; `fresh` is not in the log yet. */
async function* jump(run: Run, [to, given, why = 'stopped-by-hook']: Jump, reply?: Msg, ...fresh: Msg[]): Step {
  if (to === 'stop') return finishWith(run, why, reply);
  run.pending = [];
  const [...messages] = toCallInput(given, run.setup).messages;
  const last = to === 'end' && messages.pop();
  // A reply of nothing is for no log.
  await run.append([...fresh, ...messages].filter(({ content }) => content.length));
  if (to !== 'end') return { to, ask: true };
  yield* closeCalls(run);
  return last ? yield* answer(run, why, { ...last, role: 'assistant' }) : finishWith(run, why, reply);
}

/**
 * Runs open calls, in parallel: results enter the log as they come, the view in the order they were asked for. `decisions` are there
 * when the calls were open before this run.
 */
async function* act(run: Run, decisions?: readonly Decision[]): Step {
  const { options, sessionId, status, memory, runTool } = run.setup;
  const message = run.view.findLast(({ role }) => role === 'assistant');
  const asked: Jump[] = [];
  const pending: PendingCall[] = [];
  try {
    const ready: Extract<Admission, { type: 'ready' }>[] = [];
    for (const toolUse of run.openCalls()) {
      const admission = yield* admitCall(
        run,
        toolUse,
        decisions?.find(({ toolUseId }) => toolUseId === toolUse.id),
      );
      if (admission.type === 'ready') ready.push(admission);
      else if (admission.type === 'pending') pending.push(admission.pending);
      else yield await conclude(run, admission.toolUse, admission.result, asked);
    }
    const queue = toolQueue(options.limits?.parallelTools);
    const messages = run.request();
    for (const { call, decision } of ready) {
      const { id } = call.toolUse;
      queue.start(call.toolUse, async (sink) => {
        const { signal } = run;
        if (signal.aborted) return interruptedResult(call.toolUse, {});
        status.calls.get(id)!.started = true;
        await memory.note?.([{ kind: 'call-started', toolUseId: id, toolUse: call.toolUse }], { now: true });
        return runTool(call, {
          ...run.about,
          messages,
          context: run.context,
          decision,
          idempotencyKey: `${sessionId}:${id}`,
          signal,
          ...sink,
        });
      });
    }
    for await (const items of queue.drain()) {
      for (const item of items) {
        const { toolUse } = item;
        if (item.type === 'failure') throw item.error;
        else if (item.type === 'events') yield run.adopt(item.events);
        else if (item.type === 'progress') yield await run.notify('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
        else if (isSuspension(item.outcome)) pending.push(suspend(run, toolUse, item.outcome.kind ?? 'suspended', item.outcome.suspended));
        else yield await conclude(run, toolUse, item.outcome, asked);
      }
    }
  } catch (error) {
    // A failure on the way (a hook that threw, a full store, a tool's fatal error) must not leave the sibling calls running.
    run.abort();
    throw error;
  }
  run.pending = pending;
  if (asked[0]) return yield* jump(run, asked[0], message);
  if (run.cut) return yield* recover(run);
  return (run.output && (yield* run.output.settled())) ?? (pending.length ? finishWith(run, 'suspended', message) : { to: 'model' });
}

async function conclude(run: Run, toolUse: ToolUse, result: ToolResult, asked: Jump[]): Promise<EventBatch> {
  const event = await run.modify('post-acting', { toolUse, result }, controlOf(asked));
  await run.append([run.message('tool', [{ ...event.result, toolUseId: toolUse.id }])]);
  return [event];
}

/**
 * Ends a call that was interrupted, paused or aborted: what was released of the reply is kept, marked `metadata.partial`. An interrupt
 * answers with a recovery message of its own, or with the message it was given (AgentScope: `handleInterrupt`).
 */
async function* recover(run: Run, partial?: Msg): Step {
  if (partial) await run.append([partial]);
  const last = run.view.findLast(({ role }) => role !== 'tool');
  if (run.cut === 'paused') return finishWith(run, 'suspended', last?.role === 'assistant' ? last : undefined);
  run.pending = [];
  yield* closeCalls(run);
  if (run.failure) throw run.failure;
  if (run.cut === 'aborted') return finishWith(run, 'aborted', partial);
  const { message: given = run.setup.options.recoveryMessage ?? 'You interrupted me. What now?' } = run.interruption as StopRequest;
  return yield* answer(run, 'interrupted', given);
}

/** Ends the call with words that are no model's, which the reason alone tells. */
async function* answer(run: Run, why: StopReason, given: string | Msg, extras?: FinishExtras): Step {
  const message = typeof given === 'object' ? given : run.message('assistant', given);
  yield await run.notify('reasoning-chunk', { blockId: `${message.id}:0`, kind: 'text', delta: textOf(message) });
  return finishWith(run, why, { ...message, metadata: { ...message.metadata, reason: why } }, extras);
}

/** Law 3: gives each open tool call an `interrupted` result and puts all results where the model wants them. */
async function* closeCalls(run: Run): AsyncGenerator<EventBatch, void> {
  for (const toolUse of run.openCalls()) {
    yield await conclude(run, toolUse, interruptedResult(toolUse, run.setup.status.calls.get(toolUse.id)), []);
  }
  run.view = inRequestOrder(run.view) as Msg[];
}

async function* finish(run: Run, move: Finish): AsyncGenerator<EventBatch, AgentResult> {
  let { message } = move;
  // Nothing can change how it ended any more.
  run.closed = true;
  if (move.reason === 'suspended') yield await run.notify('suspended', { pending: run.pending });
  if (!/aborted|interrupted|rejected/.test(move.reason)) message = yield* run.revise('post-call', message);
  // What a step has put into the log, and the nothing of a call aborted before its answer, is not to be put there.
  if (message.content.length && move.reason !== 'rejected' && !run.view.some(({ id }) => id === message.id)) {
    await run.append([message]);
  }
  await run.close(move.reason);
  const result = resultOf(run, { ...move, message });
  yield await run.notify('run-end', { result });
  return result;
}

function finishWith(run: Run, why: StopReason, message: Msg = run.message('assistant', []), extras?: FinishExtras): Finish {
  return { to: 'finish', reason: why, message, ...extras };
}

function resultOf(run: Run, { to: _to, message, ...ended }: Finish): AgentResult {
  const { memory, now } = run.setup;
  return {
    text: textOf(message),
    message,
    ...ended,
    usage: run.usage,
    toolsUsed: [...run.toolsUsed],
    durationMs: now() - run.startedAt,
    iterations: run.iteration,
    pending: run.pending,
    sessionVersion: memory.sessionVersion ?? 0,
  };
}
