import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';
import { Deadline } from '../../model/deadline.ts';
import type { ReadyCall } from '../../tool/prepare-call.ts';
import type { Verdict } from '../../loop/admission/verdict.ts';
import type { Middleware } from '../../loop/use/middleware.ts';
import type { RunContext } from '../../loop/run/run-context.ts';
import type { PendingCall } from '../../event/pending-call.ts';

export interface ApprovalRule {
  /** Text for the person who decides: the `reason` of the pending call. */
  readonly description?: string;
  /** Whether a call needs approval; default: all calls do. `input` has passed the tool's schema. */
  readonly when?: (input: unknown, call: ToolUse) => Awaitable<boolean>;
}

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
   * Tools whose calls need approval, by name, in addition to tools with `needsApproval`. A string
   * is the description.
   */
  readonly approvalOn?: Readonly<Record<string, true | string | ApprovalRule>>;
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
 * for an option of the wrong kind.
 */
export function humanInTheLoop(options: HumanInTheLoopOptions): Middleware {
  checkFields(
    'CONFIGURATION',
    'humanInTheLoop()',
    options,
    'approvalOn:object|? decide:function|? timeoutMs:count|? onError:function|?',
  );
  const { approvalOn = {}, decide, timeoutMs = 300_000 } = options;
  const rules = new Map(
    Object.entries(approvalOn).map(([name, rule]) => [name, toRule(name, rule)]),
  );
  const approve = async ({ tool, input, toolUse }: ReadyCall): Promise<boolean | string> => {
    const rule = rules.get(tool.name);
    if (!rule) return false;
    const { when = () => true, description = true } = rule;
    const holds = await when(input, toolUse);
    return holds && description;
  };
  if (!decide) return { name: 'humanInTheLoop', approve };

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
  return { name: 'humanInTheLoop', approve, decide: ask };
}

/**
 * Checks a rule. An empty or misspelled rule covers all calls, so that none runs without approval.
 */
function toRule(name: string, rule: true | string | ApprovalRule): ApprovalRule {
  if (rule === true) return {};
  if (typeof rule === 'string') return { description: rule };
  checkFields(
    'CONFIGURATION',
    `humanInTheLoop(): approvalOn.${name}`,
    rule,
    'description:string|? when:function|?',
  );
  return rule;
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
