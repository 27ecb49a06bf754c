import { isEnding, type Next } from '../../agent/next.ts';
import type {
  Middleware,
  OpenCall,
  Round,
  RunCall,
  RunCallOptions,
} from '../../agent/middleware.ts';
import { perRun } from '../../agent/per-run.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import { messageOf } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import { toolResultsOf } from '../../message/message-text.ts';
import { prepareCall, type ReadyCall } from '../../tool/prepare-call.ts';
import type { Suspension } from '../../tool/run-call.ts';
import { deniedResult, errorResult, toolResult } from '../../tool/tool-result.ts';
import { approvalRules, type ApprovalRules, type ApprovalRuleBook } from './approval-rules.ts';
import { askApprover, type Decide } from './ask-approver.ts';
import { decidedInput } from './check-decisions.ts';
import { editCall } from './edit-call.ts';

declare module '../../agent/kernel-options.ts' {
  interface FeatureOptions {
    /** Default of the option `holdRound` of `approvals()`. */
    readonly holdRound?: boolean;
  }
}

export interface ApprovalsOptions {
  /**
   * Tools whose calls need approval, in addition to tools with `needsApproval`. A key is the name
   * of a tool or a pattern such as `mail_*`, where `*` matches any text. A name has precedence over
   * patterns. Of several patterns that match, the first is used. A string as a value is the
   * description, and `false` exempts a tool from the patterns.
   */
  readonly approvalOn?: ApprovalRules;
  /**
   * Whether all tool calls of a reply wait until each call that needs approval is decided. Default
   * false: only tool calls that need approval wait. `springAiAlibaba()` sets it to true.
   */
  readonly holdRound?: boolean;
  /**
   * Decides about each tool call that needs approval, while the run waits. The function is called
   * for several tool calls of a reply at the same time, up to `limits.parallelTools`. Without
   * `decide`, the tool call suspends. It also suspends if `decide` returns `undefined` or throws, or
   * if a guard rejects the reason or the edited arguments.
   */
  readonly decide?: Decide;
  /**
   * Maximum time for `decide`, in milliseconds. After that, the tool call is rejected. Default: 5
   * minutes.
   */
  readonly timeoutMs?: number;
  /**
   * Function that gets the error if `decide` throws or returns an invalid verdict, or if a guard
   * rejects the verdict. Default: logs it to the console.
   */
  readonly onError?: (error: unknown) => void;
}

interface Deciding {
  /** `decide`: tool calls are only decided in this step. `run`: they also start. */
  mode: 'decide' | 'run';
  /** Ids of the tool calls that may start without a decision. */
  readonly cleared: Set<string>;
}

/**
 * Lets people decide about tool calls: approve, edit or reject them, or give their results (Spring
 * AI Alibaba: `HumanInTheLoopHook`). `ReActAgent` has this middleware. Put `approvals({ … })` into
 * `use` to set its options. A tool call needs approval if its tool has `needsApproval` or a rule in
 * `approvalOn` says so.
 *
 * A tool call that waits for `decide` counts toward `limits.parallelTools`. Throws `CONFIGURATION`
 * for an option of the wrong kind. If a rule names a tool that the agent does not have, agent calls
 * fail with `CONFIGURATION` before anything is stored. A tool that is switched off counts as a tool
 * of the agent. A pattern may match no tool.
 */
export function approvals(options: ApprovalsOptions = {}): Middleware {
  checkOptions('CONFIGURATION', 'approvals()', options, optionFields);
  const rules = approvalRules(options.approvalOn ?? {});
  const runs = perRun((): Deciding => ({ mode: 'run', cleared: new Set() }));
  const part: Middleware = {
    name: 'approvals',
    onError: 'fail',
    on: {
      // Later than `wrapRun`, in which other middleware adds tools.
      'pre-call': {
        priority: 10_000,
        handle: (_event, _control, { tools }) => rules.check(tools),
      },
    },
    wrapRun: runs.wrapRun,
    wrapSettle: (next) => async (input, context) =>
      next(decidedInput(input, context.openCalls), context),
    wrapRound: (next) => async (round, context, steps) => {
      const { holdRound = context.options.holdRound ?? false } = options;
      const calls: OpenCall[] = [];
      for (const call of round.calls) calls.push(await withDecision(call, context, steps));
      const known = await steps.wait(withKnownStart(calls, rules, context, holdRound));
      const asked = options.decide ? known.map(askedNow) : known;
      const deciding = runs.get(context.runId)!;
      if (holdRound) return runHeld(asked, { deciding, rules, context, steps, next });
      return next({ calls: asked }, context);
    },
    wrapTool: (next) => async (call, given) => {
      const deciding = runs.get(given.runId)!;
      return decideCall(call, given, { ...options, rules, deciding, next });
    },
  };
  if (options.approvalOn || options.decide) asking.add(part);
  return part;
}

const optionFields =
  'approvalOn:object|? holdRound:boolean|? decide:function|? timeoutMs:count|? onError:function|?';

/** The middleware with rules of its own. */
const asking: WeakSet<Middleware> = new WeakSet();

/** Returns whether the middleware may ask for an approval that the tool itself does not need. */
export function mayAsk(part: Middleware): boolean {
  return asking.has(part);
}

/**
 * Applies the decision about a tool call. A rejection and a result end the tool call. An edit
 * changes its arguments.
 */
async function withDecision(call: OpenCall, context: RunContext, steps: Steps): Promise<OpenCall> {
  const { toolUse, state, result } = call;
  const { decision } = state;
  if (!decision || result || isForTool(call, context)) return call;
  if (decision.type === 'result') {
    const { output, state: how = 'success' } = decision;
    return { ...call, result: toolResult(toolUse, output, how) };
  }
  if (decision.type === 'reject')
    return { ...call, result: deniedResult(toolUse, decision.reason) };
  if (decision.type !== 'edit' || context.stopped === 'aborted') return call;
  const isReviewed = state.toolUse !== undefined;
  return {
    ...call,
    toolUse: await editCall(toolUse, decision.input, isReviewed, context, steps),
  };
}

/**
 * Returns whether the tool itself receives the decision. An example is an agent tool whose child
 * agent has pending tool calls.
 */
function isForTool({ toolUse, state }: OpenCall, { tools }: RunContext): boolean {
  const waited = state.pending ?? state.waited;
  const tool = tools.find(toolUse.name);
  return (
    waited?.kind === 'suspended' &&
    // The answer to a tool that is gone now is not the tool's result.
    Boolean(typeof tool === 'object' ? tool.takesDecisions : waited.details)
  );
}

/**
 * Marks tool calls as not started if nobody noted whether they have started, and they need an
 * approval. In a held round, no tool starts before all approvals. Its only results are rejections.
 */
async function withKnownStart(
  calls: readonly OpenCall[],
  rules: ApprovalRuleBook,
  context: RunContext,
  holdRound: boolean,
): Promise<readonly OpenCall[]> {
  if (calls.every(({ isKnown, result }) => isKnown || result)) return calls;
  const undecided = await Promise.all(calls.map((call) => isUndecided(call, rules, context)));
  const asks = undecided.includes(true) || calls.some(({ state }) => state.decision);
  const isHeld = holdRound && asks && !hasRun(context);
  return calls.map((call, index) =>
    call.isKnown || call.result || !(isHeld || undecided[index])
      ? call
      : { ...call, state: { ...call.state, started: false } },
  );
}

/** Returns whether a tool of the last reply has run: it has a result that is not a rejection. */
function hasRun({ messages }: RunContext): boolean {
  const reply = messages.findLastIndex(({ role }) => role === 'assistant');
  const results = messages.slice(reply + 1).flatMap(toolResultsOf);
  return results.some(({ state }) => state !== 'denied');
}

/** Returns whether a tool call still needs an approval. Runs no hooks. */
async function isUndecided(
  { toolUse, state, result }: OpenCall,
  rules: ApprovalRuleBook,
  context: RunContext,
): Promise<boolean> {
  if (state.decision || state.approved || result) return false;
  if (state.pending) return state.pending.kind === 'approval';
  try {
    const call = await prepareCall(context.tools, toolUse);
    return call.ok && (await needsApproval(call, rules)) !== false;
  } catch {
    // The call fails with this error when it runs.
    return false;
  }
}

/** Lets `wrapTool` ask again about a tool call that waits for an approval. */
function askedNow(call: OpenCall): OpenCall {
  const { pending, ...state } = call.state;
  return pending?.kind === 'approval' ? { ...call, state } : call;
}

interface HeldRound {
  readonly deciding: Deciding;
  readonly rules: ApprovalRuleBook;
  readonly context: RunContext;
  readonly steps: Steps;
  readonly next: (round: Round, context: RunContext) => Promise<Next>;
}

/**
 * Runs a round in which no tool starts before all approvals. First decides about the tool calls that
 * need an approval, then shows the others to the hooks, which may change them so that they need
 * one. Then starts all.
 */
async function runHeld(
  calls: readonly OpenCall[],
  { deciding, rules, context, steps, next }: HeldRound,
): Promise<Next> {
  const judging = Promise.all(calls.map((call) => isUndecided(call, rules, context)));
  const undecided = await steps.wait(judging);
  const waiting = calls.filter((_call, index) => undecided[index]);
  const fresh = calls.filter(({ state, result }) => !state.toolUse || result);
  const first = waiting.length ? waiting : fresh;
  if (!first.length) {
    for (const { toolUse } of calls) deciding.cleared.add(toolUse.id);
    return next({ calls }, context);
  }
  deciding.mode = 'decide';
  try {
    const made = await next({ calls: first }, context);
    // Only the tool calls of this step are decided. The other ones come next.
    const goesOn = !isEnding(made) && made.to === 'model' && !made.isAsked;
    return goesOn && context.openCalls.length ? { to: 'tools' } : made;
  } finally {
    deciding.mode = 'run';
  }
}

interface DecideOptions extends ApprovalsOptions {
  readonly rules: ApprovalRuleBook;
  readonly deciding: Deciding;
  readonly next: RunCall;
}

const notNow: Suspension = { suspended: '', kind: 'nothing' };

/** Runs a tool call if it needs no approval, or once somebody has approved it. */
async function decideCall(
  call: ReadyCall,
  given: RunCallOptions,
  options: DecideOptions,
): Promise<ToolResult | Suspension> {
  const { toolUse } = call;
  const { run: context } = given;
  const { rules, deciding } = options;
  const start: RunCall = async (ready, about) =>
    deciding.mode === 'run' ? options.next(ready, about) : notNow;
  const { approved } = context.status.calls.get(toolUse.id) ?? {};
  if (given.decision || approved || deciding.cleared.has(toolUse.id)) return start(call, given);
  let needs: boolean | string;
  try {
    needs = await given.steps.wait(needsApproval(call, rules));
  } catch (error) {
    return errorResult(toolUse, messageOf(error));
  }
  if (!needs) {
    deciding.cleared.add(toolUse.id);
    return start(call, given);
  }
  const suspended = needs === true ? '' : needs;
  const decision = options.decide && (await askNow(call, suspended, given, options));
  if (!decision) return { suspended, kind: 'approval' };
  if (decision.type === 'reject') return deniedResult(toolUse, decision.reason);
  const decided = decision.type === 'edit' ? await editNow(call, decision, given) : toolUse;
  // The tools may have changed while the approver was asked.
  const ready = await given.prepare(decided);
  if (!ready.ok) return errorResult(decided, ready.problem);
  return start(ready, { ...given, decision });
}

/** Edits a tool call while the run waits, and notes it in the log. */
async function editNow(
  { toolUse }: ReadyCall,
  decision: Extract<Decision, { type: 'edit' }>,
  { run: context, steps }: RunCallOptions,
): Promise<ToolUse> {
  const edited = await editCall(toolUse, decision.input, true, context, steps);
  const pending = pendingCall(edited, '');
  await steps.note([
    { kind: 'suspended', calls: [{ pending, toolUse: edited }] },
    { kind: 'decision', decision },
  ]);
  return edited;
}

function pendingCall({ id: toolUseId, name, input }: ToolUse, reason: string): PendingCall {
  return { toolUseId, name, input, kind: 'approval', ...(reason && { reason }) };
}

/** Asks the approver, and notes the question and the decision in the log. */
async function askNow(
  { toolUse }: ReadyCall,
  reason: string,
  { run: context, steps }: RunCallOptions,
  options: DecideOptions,
): Promise<Decision | undefined> {
  const pending = pendingCall(toolUse, reason);
  // The log marks the tool call as suspended during the decision. If the process ends now, the next
  // run knows that the tool has not started.
  await steps.note([{ kind: 'suspended', calls: [{ pending, toolUse }] }], { now: true });
  const decision = await askApprover(pending, { ...options, context, steps });
  if (decision) await steps.note([{ kind: 'decision', decision }]);
  return decision;
}

/** Returns whether a tool call needs an approval; a text is the reason for the approver. */
async function needsApproval(
  call: ReadyCall,
  rules: ApprovalRuleBook,
): Promise<boolean | string> {
  const { needsApproval: asked = false } = call.tool;
  const own = typeof asked === 'function' ? await asked(call.input, call.toolUse) : asked;
  const ruled = await rules.needs(call);
  return ruled || own || false;
}
