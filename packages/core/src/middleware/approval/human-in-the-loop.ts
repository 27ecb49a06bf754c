import { AgentError } from '../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { Msg } from '../../message/msg.ts';
import { Deadline } from '../../model/deadline.ts';
import type { ReadyCall } from '../../tool/prepare-call.ts';
import { undecidedCalls } from '../../loop/admission/undecided-calls.ts';
import type { Verdict } from '../../loop/admission/verdict.ts';
import { guardVerdict } from '../../loop/input/guard-verdict.ts';
import type { Middleware } from '../../loop/use/middleware.ts';
import type { RunContext } from '../../loop/run/run-context.ts';
import { outputToolName } from '../../message/output-tool.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import { approvalRules, type ApprovalRules } from './approval-rules.ts';

export type { ApprovalRule } from './approval-rules.ts';

/** Context of the tool call that needs a decision. */
export interface ApprovalContext {
  readonly sessionId: string;
  /** Messages of the model request whose reply contains the tool call. */
  readonly messages: readonly Msg[];
  /** Signal that aborts when the decision is no longer needed. */
  readonly signal: AbortSignal;
}

export interface HumanInTheLoopOptions {
  /**
   * Tools whose calls need approval, in addition to tools with `needsApproval`. A key is the name
   * of a tool or a pattern such as `mail_*`, where `*` matches any text. A name has precedence over
   * patterns. Of several patterns that match, the first is used. A string as a value is the
   * description, and `false` exempts a tool from the patterns.
   */
  readonly approvalOn?: ApprovalRules;
  /**
   * Whether all tool calls of a reply wait until each call that needs approval is decided. Default
   * false: only tool calls that need approval wait. Of several middlewares with this option, the
   * last one counts: `false` after `springAiAlibaba()` turns it off.
   */
  readonly holdRound?: boolean;
  /**
   * Decides about each tool call that needs approval, while the run waits. The function is called
   * for several tool calls of a reply at the same time, up to `limits.parallelTools`; with
   * `holdRound` for all of them. Without `decide`, the tool call suspends. It also suspends if
   * `decide` returns `undefined` or throws, or if a guard rejects the reason or the edited arguments.
   */
  readonly decide?: (call: PendingCall, context: ApprovalContext) => Awaitable<Verdict | undefined>;
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

/**
 * Lets people approve, edit or reject tool calls (Spring AI Alibaba: `HumanInTheLoopHook`). Without
 * `holdRound`, a tool call that waits for `decide` counts toward `limits.parallelTools`. Throws
 * `CONFIGURATION` for an option of the wrong kind. If a rule names a tool that the agent does not
 * have, agent calls fail with `CONFIGURATION` before anything is stored. A tool that is switched
 * off counts as a tool of the agent. A pattern may match no tool.
 */
export function humanInTheLoop(options: HumanInTheLoopOptions): Middleware {
  checkOptions(
    'CONFIGURATION',
    'humanInTheLoop()',
    options,
    'approvalOn:object|? holdRound:boolean|? decide:function|? timeoutMs:count|? onError:function|?',
  );
  const { approvalOn = {}, holdRound, decide, timeoutMs = 300_000 } = options;
  const rules = approvalRules(approvalOn);
  const approve = async (
    { tool: { name }, input, toolUse }: ReadyCall,
    { addedTools }: RunContext,
  ): Promise<boolean | string> => {
    // A structured value is an answer, although it comes as a tool call.
    const isAnswer = name === outputToolName && addedTools.some((added) => added.name === name);
    const rule = rules.named(name) ?? (isAnswer ? undefined : rules.byPattern(name));
    if (!rule) return false;
    const { when = () => true, description = true } = rule;
    const holds = await when(input, toolUse);
    return holds && description;
  };
  // Later than `wrapRun`, in which other middlewares add tools.
  const check: NonNullable<Middleware['on']> = {
    'pre-call': {
      priority: 10_000,
      handle: (_event, _control, { tools }) => rules.check(tools),
    },
  };
  const hold = holdRound !== undefined && { hold: holdRound ? undecidedCalls : () => undefined };
  const part: Middleware = { name: 'humanInTheLoop', onError: 'fail', approve, on: check, ...hold };
  if (!decide) return part;

  const ask = async (
    pending: PendingCall,
    context: RunContext,
    signal: AbortSignal,
  ): Promise<Verdict | undefined> => {
    const { sessionId, request: messages } = context;
    const { name, toolUseId } = pending;
    const late = new AgentError(
      'TOOL_TIMEOUT',
      `Nobody decided about "${name}" within ${timeoutMs} ms`,
    );
    const deadline = new Deadline(signal, timeoutMs, () => late);
    try {
      const asked = { sessionId, messages, signal: deadline.signal };
      const verdict = checked(await deadline.wait(async () => decide(pending, asked)));
      return verdict && (await guardVerdict(context, toolUseId, verdict));
    } catch (error) {
      if (signal.aborted) throw error;
      if (error === late) return { type: 'reject', reason: 'nobody decided in time' };
      reportFailure(`Nobody could decide about "${name}".`, options.onError, error);
      return undefined;
    } finally {
      deadline.end();
    }
  };
  return { ...part, decide: ask };
}

function checked(verdict: Verdict | undefined): Verdict | undefined {
  if (verdict === undefined) return verdict;
  checkFields(
    'INVALID_DECISION',
    'The verdict',
    verdict,
    'type:approve|edit|reject reason:string|?',
  );
  if (verdict.type === 'edit' && verdict.input === undefined)
    throw new AgentError('INVALID_DECISION', 'An `edit` verdict needs `input`.');
  return verdict;
}
