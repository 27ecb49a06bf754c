import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { Msg } from '../../message/msg.ts';
import { Deadline } from '../../model/deadline.ts';
import type { ReadyCall } from '../../tool/prepare-call.ts';
import { undecidedCalls } from '../../loop/admission/undecided-calls.ts';
import type { Verdict } from '../../loop/admission/verdict.ts';
import type { Middleware } from '../../loop/use/middleware.ts';
import type { RunContext } from '../../loop/run/run-context.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import { approvalRules, type ApprovalRules } from './approval-rules.ts';

export type { ApprovalRule } from './approval-rules.ts';

/** The context of the call to decide about. */
export interface ApprovalContext {
  readonly sessionId: string;
  /** Messages of the request that led to the call. */
  readonly messages: readonly Msg[];
  /** Raised when the answer is no longer needed. */
  readonly signal: AbortSignal;
}

export interface HumanInTheLoopOptions {
  /**
   * Tools whose calls need approval, in addition to tools with `needsApproval`. A key is a tool's
   * name or a pattern such as `mail_*`, where `*` stands for any text. A name wins over patterns, and
   * the first pattern wins over later ones. A string is the description.
   */
  readonly approvalOn?: ApprovalRules;
  /**
   * Whether no call of a reply runs before all of its calls are decided, not even one that needs no
   * approval. Default false: only the calls that need approval wait.
   */
  readonly holdRound?: boolean;
  /**
   * Decides about each call that needs approval, while the run waits. It is asked about the calls
   * of a reply at the same time, up to `limits.parallelTools`. Its `signal` is raised when the
   * answer is no longer needed. Without `decide`, or if it returns `undefined` or throws, the call
   * suspends.
   */
  readonly decide?: (call: PendingCall, context: ApprovalContext) => Awaitable<Verdict | undefined>;
  /**
   * Largest time for `decide`, in milliseconds; default 5 minutes. After that the call is rejected.
   */
  readonly timeoutMs?: number;
  /** Called if `decide` throws or returns an invalid verdict; default: the console. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Lets people approve, edit or reject tool calls (Spring AI Alibaba: `HumanInTheLoopHook`). A call
 * that waits for `decide` takes one of the `limits.parallelTools` places. Throws `CONFIGURATION`
 * for an option of the wrong kind. A call fails with `CONFIGURATION`, before anything is stored, if
 * a rule names a tool that the agent does not have, not even switched off. A pattern may match no
 * tool.
 */
export function humanInTheLoop(options: HumanInTheLoopOptions): Middleware {
  checkFields(
    'CONFIGURATION',
    'humanInTheLoop()',
    options,
    'approvalOn:object|? holdRound:boolean|? decide:function|? timeoutMs:count|? onError:function|?',
  );
  const { approvalOn = {}, holdRound = false, decide, timeoutMs = 300_000 } = options;
  const rules = approvalRules(approvalOn);
  const approve = async ({ tool, input, toolUse }: ReadyCall): Promise<boolean | string> => {
    const rule = rules.of(tool.name);
    if (!rule) return false;
    const { when = () => true, description = true } = rule;
    const holds = await when(input, toolUse);
    return holds && description;
  };
  // A call that was aborted before its turn has no input and needs no check.
  const wrapRun: Middleware['wrapRun'] = (next) => async (input, context) => {
    if (input) rules.check(context.tools);
    return next(input, context);
  };
  const hold = holdRound && { hold: undecidedCalls };
  const part = { name: 'humanInTheLoop', approve, wrapRun, ...hold };
  if (!decide) return part;

  const ask = async (
    pending: PendingCall,
    { sessionId, request: messages }: RunContext,
    signal: AbortSignal,
  ): Promise<Verdict | undefined> => {
    const { name } = pending;
    const late = new AgentError(
      'TOOL_TIMEOUT',
      `Nobody decided about "${name}" within ${timeoutMs} ms`,
    );
    const deadline = new Deadline(signal, timeoutMs, () => late);
    try {
      const asked = { sessionId, messages, signal: deadline.signal };
      return checked(await deadline.wait(async () => decide(pending, asked)));
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
