import type { Middleware, Run } from '../agent/middleware.ts';
import { nestedWraps } from '../agent/nested.ts';
import { perRun } from '../agent/per-run.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { boolean, func, nonNegative, object, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { ReasonFor } from './approval-need.ts';
import { approvalRules, type ApprovalRules } from './approval-rules.ts';
import type { ApprovalMiddleware } from './approving-agent.ts';
import { askApprover, type Decide } from './ask-approver.ts';
import { basicApprovals } from './basic-approvals.ts';
import { deferredRounds } from './deferred-rounds.ts';

// The wrappers of `approvals()`, from the outermost to the innermost:
// 1. `askApprover()`, with `decide`: asks about a call that 2 suspends, and passes it on decided.
// 2. `basicApprovals()`: carries out decisions, and suspends a call that needs an approval.
// 3. `deferredRounds()`, with `deferRound`: lets calls run once all of their reply are decided.
// `approvalRules()` says which calls need an approval, for `basicApprovals()` and
// `deferredRounds()`. A call that `deferredRounds()` lets run needs none any more.

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
   * Whether all tool calls of a reply wait until each call that needs approval is decided. Default:
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
 * Lets people decide about tool calls: approve, edit or reject them, or give their results.
 * `ReActAgent` asks for the approvals that tools themselves need. Put `approvals({ … })` into `use`
 * for rules, for decisions while the run waits, and to defer rounds.
 *
 * A tool call that waits for `decide` counts toward `limits.parallelTools`. Throws `CONFIGURATION`
 * for an option of the wrong kind. If a rule names a tool that the agent does not have, agent calls
 * fail with `CONFIGURATION` before anything is stored. A tool that is switched off counts as a tool
 * of the agent, as does a tool of an agent in `handOff()`. A pattern may match no tool. Source:
 * Spring AI Alibaba, `HumanInTheLoopHook`.
 */
export function approvals(options: ApprovalsOptions = {}): Middleware {
  checkOptions('approvals()', options, approvalsOptions);
  const { needsApproval, decide, deferRound } = options;
  const rules = approvalRules(needsApproval ?? {});
  const clearedOf = perRun(() => new Set<string>());
  const reasonFor: ReasonFor = (call, run) =>
    !clearedOf(run).has(call.toolUse.id) && rules.reasonFor(call, run);
  const defers = ({ options: ofAgent }: Run): boolean => deferRound ?? ofAgent.deferRound ?? false;
  const basic = basicApprovals(reasonFor);
  const rounds = deferredRounds({ defers, reasonFor, clearedOf });
  const all = [...(decide ? [askApprover({ ...options, decide })] : []), basic, rounds];
  const middleware: ApprovalMiddleware = {
    name: basic.name,
    isApprovals: true,
    mayAsk: Boolean(needsApproval || decide),
    wrapSettle: async (input, next, run) => {
      // Later than `wrapRun`, in which other middleware adds tools.
      rules.check(run.tools.current);
      return basic.wrapSettle(input, next, run);
    },
    wrapRound: nestedWraps(...all.map(({ wrapRound }) => wrapRound)),
    wrapTool: nestedWraps(...all.map(({ wrapTool }) => wrapTool)),
  };
  return middleware;
}

const approvalsOptions: OptionTable<ApprovalsOptions> = {
  needsApproval: optional(object),
  deferRound: optional(boolean),
  decide: optional(func),
  timeoutMs: optional(nonNegative),
  onError: optional(func),
};
