import { messageOf } from '../../error/agent-error.ts';
import type { EventOf } from '../../event/agent-event.ts';
import { resumeOfStarted } from '../../memory/log/resumption.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import { prepareCall } from '../../tool/prepare-call.ts';
import type { Prepared, ReadyCall, ToolCall } from '../../tool/prepare-call.ts';
import { runCall, type ExecuteOptions } from '../../tool/run-call.ts';
import { isResult, isSuspension, notStarted } from '../../tool/tool-outcome.ts';
import type { ToolOutcome } from '../../tool/tool-outcome.ts';
import { toolQueue, type ToolQueueItem, type ToolSink } from '../../tool/tool-queue.ts';
import { deniedResult, errorResult, interruptedResult } from '../../tool/tool-result.ts';
import { requireParts } from '../check-options.ts';
import { conclude, failCall } from './conclude.ts';
import type { OpenCall, Round } from '../middleware.ts';
import { controlOf, firstOf, type Jump, type Next } from '../next.ts';
import { endStopped } from './finish.ts';
import { carryOut } from './jump.ts';
import { admitCall, callState, pendingCallsOf, suspendCall, takeNotes } from '../run/open-calls.ts';
import type { Run } from '../run/run.ts';
import { runWrapped } from '../run/wrapped-step.ts';

/** A tool call whose tool may start. */
interface AdmittedCall {
  readonly call: OpenCall;
  readonly checked: Prepared;
}

/** What a tool call gets besides its own values. */
type ToolOutput = ToolSink & Pick<ExecuteOptions, 'messages'>;

/** Runs the open tool calls inside `wrapRound`, and says what follows. */
export function runRound(run: Run): Promise<Next> {
  return runWrapped(run, 'wrapRound', { calls: run.openCalls }, innerRound);
}

async function innerRound(run: Run, round: Round): Promise<Next> {
  const instead = await new ToolRound(run).run(round);
  // The message is read here, because a person may have edited its tool calls meanwhile.
  const message = run.messages.findLast(({ role }) => role === 'assistant');
  if (instead) return carryOut(run, instead, message);
  if (run.stopped) return endStopped(run);
  if (!pendingCallsOf(run).length) return { to: 'model' };
  return { kind: 'stopped', reason: 'suspended', message };
}

/** The tool calls that run at the same time. */
class ToolRound {
  readonly #run: Run;
  /** What hooks have asked for. The loop does it after the round. */
  readonly #jumps: Jump[] = [];

  constructor(run: Run) {
    this.#run = run;
  }

  /**
   * Runs the tool calls and returns what hooks asked for. First admits the calls in order: checks
   * each one, and passes it through the `pre-acting` hooks. Then starts their tools at the same time.
   * Results enter the log as they arrive. After a `stop` or a failure, no tool starts.
   */
  async run({ calls, parallelTools }: Round): Promise<Jump | undefined> {
    const run = this.#run;
    const admitted = await this.#admitAll(calls);
    const queue = toolQueue(parallelTools ?? run.options.limits.parallelTools);
    const messages = run.request;
    for (const one of admitted)
      queue.start(one.checked.toolUse, (sink) => this.#start(one, { ...sink, messages }));
    for (let items = await queue.next(); items; items = await queue.next()) {
      for (const item of items) {
        // After a failure, such as a full store, the other tools stop. Their results still count.
        await this.#take(item).catch((error: unknown) => run.fail(error));
      }
    }
    run.signal.throwIfAborted();
    return firstOf(this.#jumps);
  }

  /** Returns the calls whose tools may start. The others get their results or stay open. */
  async #admitAll(calls: readonly OpenCall[]): Promise<readonly AdmittedCall[]> {
    const admitted: AdmittedCall[] = [];
    for (const [index, call] of calls.entries()) {
      if (this.#isStopped) break;
      const made = await this.#admit(call);
      // Given results enter the log in one write.
      const later = calls[index + 1]?.result !== undefined;
      if ('ok' in made) admitted.push({ call, checked: made });
      else await this.#end(call.toolUse, made, later);
    }
    return admitted;
  }

  /** Returns the checked call if its tool may start, or else the outcome of the call. */
  async #admit(call: OpenCall): Promise<Prepared | ToolOutcome> {
    const run = this.#run;
    const { toolUse, state, result } = call;
    if (result) return result;
    if ((state.pending && !state.decision) || startsNoTool(run)) return notStarted;
    let checked = await check(run, toolUse);
    const ended = state.started && afterStart(call, checked);
    if (ended) return ended;
    // An earlier run has passed the call through the hooks.
    if (!state.toolUse) {
      const reviewed = await this.#review(checked);
      if (!('ok' in reviewed)) return reviewed;
      checked = reviewed;
    }
    admitCall(run, call, checked.toolUse);
    return checked;
  }

  /**
   * Passes the tool call to the `pre-acting` hooks, which may change, reject or stop it. If the tool
   * call cannot run, the event names the problem. After a hook changes the tool call, the next hook
   * gets the problem of the changed one.
   */
  async #review(first: Prepared): Promise<Prepared | ToolOutcome> {
    const run = this.#run;
    let refusal: ToolResult | undefined;
    let checked = first;
    const reject = (reason: string): void => {
      refusal ??= deniedResult(first.toolUse, reason);
    };
    const { stop } = controlOf(this.#jumps, 'pre-acting');
    const renew = async (given: EventOf<'pre-acting'>): Promise<EventOf<'pre-acting'>> => {
      if (given.toolUse === checked.toolUse) return given;
      // The tool call keeps its id, because the result must name the id that the model chose.
      const toolUse = { ...given.toolUse, id: first.toolUse.id };
      checked = await check(run, toolUse);
      const { problem: _before, ...event } = given;
      return { ...event, toolUse, ...problemOf(checked) };
    };
    const fields = { toolUse: first.toolUse, ...problemOf(first) };
    let event: EventOf<'pre-acting'>;
    try {
      event = await run.outbox.modify('pre-acting', fields, { reject, stop }, renew);
    } catch (error) {
      if (run.signal.aborted) throw error;
      return failCall(run, first.toolUse, error, 'A hook failed before this call began.');
    }
    await run.outbox.push([event]);
    if (this.#isStopped) return notStarted;
    return refusal ?? checked;
  }

  /** Starts the tool of an admitted call, and returns the outcome. Never rejects. */
  async #start(admitted: AdmittedCall, output: ToolOutput): Promise<ToolOutcome> {
    const run = this.#run;
    const { toolUse } = admitted.checked;
    try {
      return await this.#runTool(admitted, output);
    } catch (error) {
      const { started, pending } = callState(run, toolUse) ?? {};
      const staysOpen = !started && (run.signal.aborted || pending);
      // The other tools stop at once, before the loop reads the outcome.
      const failed = failCall(run, toolUse, error, messageOf(error));
      return staysOpen ? notStarted : failed;
    }
  }

  async #runTool({ call, checked }: AdmittedCall, output: ToolOutput): Promise<ToolOutcome> {
    const run = this.#run;
    if (!this.#mayStart) return notStarted;
    // An earlier call may have changed the tools, for example their groups.
    const isSame = checked.ok && run.tools.find(checked.toolUse.name) === checked.tool;
    const ready = isSame ? checked : await check(run, checked.toolUse);
    if (!ready.ok) return errorResult(ready.toolUse, ready.problem);
    const { state } = call;
    const { decision, pending, waited } = state;
    const given: ToolCall = {
      ...ready,
      state,
      decision,
      pending: pending ?? waited,
      prepare: (toolUse) => check(run, toolUse),
    };
    const isExternal = !ready.tool.execute;
    const begin = (toolUse: ToolUse): Promise<boolean> => this.#begin(ready, toolUse);
    const outcome = await runWrapped(run, 'wrapTool', given, (_run, made) =>
      runCall(made, { ...output, isExternal, run, begin }),
    );
    // A wrapper may have answered in place of the tool.
    if (isResult(outcome) && outcome.state === 'success')
      run.report.toolsUsed.set(ready.toolUse.id, ready.tool.name);
    return outcome;
  }

  /** Notes in the log that a tool starts. Does so once per call, even if wrappers try several times. */
  async #begin(ready: ReadyCall, toolUse: ToolUse): Promise<boolean> {
    const run = this.#run;
    if (!callState(run, toolUse)?.started) {
      const note = { kind: 'call-started', toolUseId: toolUse.id, toolUse } as const;
      await run.waits.write(run.setup.memory.note?.([note], { now: true }));
      if (!this.#mayStart) return false;
      takeNotes(run, [note]);
      run.report.toolsUsed.set(ready.toolUse.id, ready.tool.name);
    }
    return this.#mayStart;
  }

  /** Handles what a running tool has put into the queue. */
  async #take(item: ToolQueueItem): Promise<void> {
    const run = this.#run;
    const { toolUse } = item;
    if (item.type === 'events') return run.outbox.push(run.outbox.adopt(item.events));
    // A decision may have changed the arguments.
    if (item.type === 'outcome')
      return this.#end(callState(run, toolUse)?.toolUse ?? toolUse, item.outcome);
    // After an abort, nobody needs progress events, and a hook could hang.
    if (run.signal.aborted) return;
    return run.outbox.tell('acting-chunk', { toolUseId: toolUse.id, chunk: item.chunk });
  }

  /** Ends or suspends a tool call, or leaves it open. `later`: the next write may store the result. */
  async #end(toolUse: ToolUse, outcome: ToolOutcome, later = false): Promise<void> {
    if (isSuspension(outcome)) suspendCall(this.#run, toolUse, outcome);
    else if (isResult(outcome))
      await conclude(this.#run, toolUse, outcome, { jumps: this.#jumps, later });
  }

  get #isStopped(): boolean {
    return this.#jumps.some(({ to }) => to === 'stop');
  }

  get #mayStart(): boolean {
    return !this.#isStopped && !startsNoTool(this.#run);
  }
}

/**
 * Returns whether an interrupt or an abort prevents further tools from starting. A run that is only
 * suspended continues with its open calls.
 */
function startsNoTool({ stopped }: Run): boolean {
  return stopped !== undefined && stopped !== 'suspended';
}

/** Finds the tool and validates the input. */
async function check(run: Run, toolUse: ToolUse): Promise<Prepared> {
  try {
    const prepared = await run.waits.code(prepareCall(run.tools, toolUse));
    if (prepared.ok) requireParts(run.setup.use, prepared.tool);
    return prepared;
  } catch (error) {
    if (run.waits.isAbort(error)) throw error;
    // If a schema throws, only this tool call fails.
    return { ok: false, problem: messageOf(error), toolUse };
  }
}

function problemOf(checked: Prepared): { readonly problem?: string } {
  return checked.ok ? {} : { problem: checked.problem };
}

/**
 * Returns the outcome of a call whose tool may have started in an earlier run, or nothing if the
 * tool may run again. No hook may repair such a call.
 */
function afterStart({ toolUse, state }: OpenCall, checked: Prepared): ToolOutcome | undefined {
  if (!checked.ok) return errorResult(checked.toolUse, checked.problem);
  if (state.decision || !checked.tool.execute) return undefined;
  const resume = resumeOfStarted(checked.tool);
  if (resume === 'run') return undefined;
  return resume === 'close' ? interruptedResult(toolUse) : { suspended: '', kind: 'replay' };
}
