import type { Middleware, OpenCall, RunContext, Steps } from '../../agent/middleware.ts';
import { nestedWraps } from '../../agent/nested.ts';
import { perRun } from '../../agent/per-run.ts';
import { AgentError, checkOptions } from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { Awaitable } from '../../event/hook.ts';
import { checkDecision, type Decision, type PendingCall } from '../../event/pending-call.ts';
import type { JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import { deniedResult, errorResult, isSuspension } from '../../tool/tool-call.ts';
import { Deadline } from '../../wait/deadline.ts';
import {
  approvalRules,
  type ApprovalMiddleware,
  type ApprovalRules,
  type NeedsApproval,
} from './approval-rules.ts';
import { basicApprovals, editCall } from './basic-approvals.ts';
import { deferredRounds } from './deferred-rounds.ts';

// The wrappers of `approvals()`, from the outermost to the innermost:
// 1. `askApprover()`, with `decide`: asks about a call that 2 suspends, and passes it on decided.
// 2. `basicApprovals()`: carries out decisions, and suspends a call that needs an approval.
// 3. `deferredRounds()`, with `deferRound`: lets calls run once all of their reply are decided.
// `approvalRules()` says for 2 and 3 which calls need an approval. Those that 3 has cleared need none
// any more.

declare module '../../agent/kernel-options.ts' {
  interface FeatureOptions {
    /** Default of the option `deferRound` of `approvals()`. */
    readonly deferRound?: boolean;
  }
}

/** Decision of an approver about a tool call. */
export type ApprovalDecision =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string };

/** Context of the tool call that needs a decision. */
export interface ApprovalContext {
  readonly sessionId: string;
  /** Messages of the model request whose reply contains the tool call. */
  readonly messages: readonly Msg[];
  /** Signal that aborts when the decision is no longer needed. */
  readonly signal: AbortSignal;
}

/** Decides about a tool call while the run waits. */
export type Decide = (
  call: PendingCall,
  context: ApprovalContext,
) => Awaitable<ApprovalDecision | undefined>;

/** Which tool calls need an approval, and who decides about them. */
export interface ApprovalsOptions {
  /**
   * Tools whose calls need approval, in addition to tools with `needsApproval`. A key is the name
   * of a tool or a pattern such as `mail_*`, where `*` matches any text. A name has precedence over
   * patterns. Of several patterns that match, the first is used. A string as a value is the
   * description, and `false` exempts a tool from the patterns.
   */
  readonly needsApproval?: ApprovalRules;
  /**
   * Whether all tool calls of a reply wait until each call that needs approval is decided. Default
   * false: only tool calls that need approval wait. `springAiAlibaba()` sets it to true.
   */
  readonly deferRound?: boolean;
  /**
   * Decides about each tool call that needs approval, while the run waits. The function is called
   * for several tool calls of a reply at the same time, up to `limits.parallelTools`. Without
   * `decide`, the tool call suspends. It also suspends if `decide` returns `undefined` or throws,
   * or if a guard rejects the reason or the edited arguments.
   */
  readonly decide?: Decide;
  /**
   * Maximum time for `decide`, in milliseconds. After that, the tool call is rejected. Default: 5
   * minutes.
   */
  readonly timeoutMs?: number;
  /**
   * Function that gets the error if `decide` throws or returns an invalid decision, or if a guard
   * rejects the decision. Default: logs it to the console.
   */
  readonly onError?: (error: unknown) => void;
}

/**
 * Lets people decide about tool calls: approve, edit or reject them, or give their results (Spring
 * AI Alibaba: `HumanInTheLoopHook`). `ReActAgent` asks for the approvals that tools themselves
 * need. Put `approvals({ … })` into `use` for rules, for decisions while the run waits, and to
 * defer rounds.
 *
 * A tool call that waits for `decide` counts toward `limits.parallelTools`. Throws `CONFIGURATION`
 * for an option of the wrong kind. If a rule names a tool that the agent does not have, agent calls
 * fail with `CONFIGURATION` before anything is stored. A tool that is switched off counts as a tool
 * of the agent, as does a tool of an agent in `handOff()`. A pattern may match no tool.
 */
export function approvals(options: ApprovalsOptions = {}): Middleware {
  checkOptions('approvals()', options, optionFields);
  const { needsApproval, decide, deferRound } = options;
  const rules = approvalRules(needsApproval ?? {});
  const clearedOf = perRun(() => new Set<string>());
  const needs: NeedsApproval = (call, context) =>
    !clearedOf(context).has(call.toolUse.id) && rules.needs(call, context);
  const defers = ({ options: ofAgent }: RunContext): boolean =>
    deferRound ?? ofAgent.deferRound ?? false;
  const basic = basicApprovals(needs);
  const rounds = deferredRounds({ defers, needs, clearedOf });
  const parts = [...(decide ? [askApprover(decide, options)] : []), basic, rounds];
  const middleware: ApprovalMiddleware = {
    name: basic.name,
    mayNeedApproval: Boolean(needsApproval || decide),
    wrapSettle: (next) => async (input, context, steps) => {
      // Later than `wrapRun`, in which other middleware adds tools.
      rules.check(context.tools);
      return basic.wrapSettle(next)(input, context, steps);
    },
    wrapRound: nestedWraps(...parts.map((part) => part.wrapRound)),
    wrapTool: nestedWraps(...parts.map((part) => part.wrapTool)),
  };
  return middleware;
}

const optionFields =
  'needsApproval:object|? deferRound:boolean|? decide:function|? timeoutMs:nonNegative|? onError:function|?';

/** Asks `decide` about each tool call that an inner wrapper suspends for an approval. */
function askApprover(
  decide: Decide,
  options: ApprovalsOptions,
): Required<Pick<Middleware, 'wrapRound' | 'wrapTool'>> {
  return {
    wrapRound: (next) => (round) => next({ ...round, calls: round.calls.map(withoutPending) }),
    wrapTool: (next) => async (call, context, steps) => {
      const outcome = await next(call);
      if (!isSuspension(outcome) || outcome.kind !== 'approval') return outcome;
      const { suspended: _suspended, ...wait } = outcome;
      let { toolUse } = call;
      const { id: toolUseId, name, input } = toolUse;
      const pending: PendingCall = { toolUseId, name, input, kind: 'approval', ...wait };
      // If the process ends during the question, the next run knows that the tool has not started.
      await steps.note([{ kind: 'suspended', calls: [{ pending, toolUse }] }], { write: true });
      const decision = await decisionAbout(pending, context, steps, decide, options);
      if (!decision) return outcome;
      await steps.note([{ kind: 'decision', decision }]);
      if (decision.type === 'reject') return deniedResult(toolUse, decision.reason);
      if (decision.type === 'edit') toolUse = await editCall(toolUse, decision, { context, steps });
      // The tools may have changed while the approver was asked.
      const ready = await call.prepare(toolUse);
      return ready.ok ? next({ ...call, ...ready, decision }) : errorResult(toolUse, ready.problem);
    },
  };
}

/** Returns a tool call without what it waits for, so that the approver is asked again. */
function withoutPending(call: OpenCall): OpenCall {
  const { pending, ...state } = call.state;
  return pending?.kind === 'approval' && !state.decision ? { ...call, state } : call;
}

/** Returns nothing if there is no decision, also after an abort or an interrupt. */
async function decisionAbout(
  pending: PendingCall,
  { sessionId, requestMessages: messages, stopSignal: signal }: RunContext,
  steps: Steps,
  decide: Decide,
  { timeoutMs = 300_000, onError }: ApprovalsOptions,
): Promise<Decision | undefined> {
  const { name, toolUseId } = pending;
  const tooLate = `Nobody decided about "${name}" within ${timeoutMs} ms`;
  const timeoutError = new AgentError('TOOL_TIMEOUT', tooLate);
  const deadline = new Deadline(signal, timeoutMs, () => timeoutError);
  try {
    const approverContext = { sessionId, messages, signal: deadline.signal };
    const answer: unknown = await deadline.wait(async () => decide(pending, approverContext));
    if (answer === undefined) return undefined;
    const decision = toDecision(pending, answer);
    const input = { messages: [], decisions: [decision], arrivedDuringRun: 'decision' } as const;
    const { decisions } = await steps.admit(input);
    return decisions[0];
  } catch (error) {
    if (signal.aborted) return undefined;
    if (error === timeoutError)
      return { toolUseId, name, type: 'reject', reason: 'nobody decided in time' };
    reportFailure(`Nobody could decide about "${name}".`, onError, error);
    return undefined;
  } finally {
    deadline.end();
  }
}

/**
 * Adds the id of the tool call to the decision of `decide`. Throws `INVALID_DECISION` if it is
 * none.
 */
function toDecision({ toolUseId, name }: PendingCall, answer: unknown): Decision {
  const decision: unknown = { toolUseId, name, ...Object(answer) };
  checkDecision(decision, 'The decision', 'INVALID_DECISION');
  const isOfCall = decision.toolUseId === toolUseId && decision.name === name;
  if (isOfCall && decision.type !== 'result') return decision;
  throw new AgentError('INVALID_DECISION', `The decision is not about "${name}".`);
}
