import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json.ts';
import { Deadline } from '../../model/deadline.ts';
import { prepareCall, type ReadyCall } from '../../tool/prepare-call.ts';
import type { RunCall, RunCallOptions } from '../../tool/run-call.ts';
import type { ToolSet } from '../../tool/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';
import { deniedResult, interruptedResult } from '../../tool/tool-result.ts';
import { reasonOf, suspend } from '../../loop/admission/admit-call.ts';
import type { Extension } from '../../loop/extension.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import { perRun } from '../../loop/per-run.ts';
import type { Run } from '../../loop/run.ts';

export interface ApprovalRule {
  /** What somebody who decides is told: the pending call's `reason`. */
  readonly description?: string;
  /** Which calls; default: all. `input` has passed the tool's schema. */
  readonly when?: (input: unknown, call: ToolUse) => Awaitable<boolean>;
}

/** What somebody said of a call; `undefined`: nothing yet, so that it suspends. */
export type Verdict =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string }
  | undefined;

export interface HumanInTheLoopOptions {
  /**
   * Tools whose calls somebody has to approve, by name, besides those that say so themselves
   * (`needsApproval`). A text is a description.
   */
  readonly approvalOn?: Readonly<Record<string, true | string | ApprovalRule>>;
  /**
   * Asked about each call that needs approval, all calls of a reply at once, while the run waits.
   * Its `signal` is raised when the answer is not wanted any more. Without it, and where it gives
   * `undefined` or throws, the call suspends.
   */
  readonly decide?: (
    call: PendingCall,
    context: Pick<RunCallOptions, 'sessionId' | 'messages' | 'signal'>,
  ) => Awaitable<Verdict>;
  /** Milliseconds that `decide` may take; default 5 minutes. Then the call is rejected. */
  readonly timeoutMs?: number;
  /** Told when `decide` throws or gives what is no verdict; default: the console. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Has people approve, edit or reject tool calls (Spring AI Alibaba: `HumanInTheLoopHook`). A call
 * that waits for `decide` takes one of `limits.parallelTools`. Give it first of the extensions, so
 * that a retried tool is not asked about again. Throws `CONFIGURATION` for an option of the wrong
 * kind.
 */
export function humanInTheLoop(options: HumanInTheLoopOptions): Extension {
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
  const needsApproval = async ({ tool, input, toolUse }: ReadyCall): Promise<boolean | string> => {
    const rule = rules.get(tool.name);
    if (!rule || (rule.when && !(await rule.when(input, toolUse)))) return false;
    return rule.description ?? true;
  };
  if (!decide) return { needsApproval };

  const runs = perRun((run) => run);
  const wrapTool =
    (next: RunCall): RunCall =>
    async (call, context) => {
      if (!call.needs || context.decision) return next(call, context);
      const run = runs.get(context.runId)!;
      const { name } = call.toolUse;
      const reason = reasonOf(call.needs);
      const pending = suspend(run, call.toolUse, 'approval', reason);
      // It has not started: a process that ends while somebody thinks about it leaves a call that
      // waits.
      await run.setup.memory.note?.(
        [{ kind: 'suspended', calls: [{ pending, toolUse: call.toolUse }] }],
        { now: true },
      );
      const { sessionId, messages } = context;
      const late = new AgentError(
        'TOOL_TIMEOUT',
        `Nobody decided about "${name}" within ${timeoutMs} ms`,
      );
      const deadline = new Deadline(context.signal, timeoutMs, () => late);
      let verdict: Verdict;
      try {
        verdict = checked(
          await deadline.wait(async () =>
            decide(pending, { sessionId, messages, signal: deadline.signal }),
          ),
        );
      } catch (error) {
        if (context.signal.aborted) return interruptedResult(call.toolUse, {});
        if (error === late) return deniedResult(call.toolUse, 'nobody decided in time');
        reportFailure(`Nobody could decide about "${name}".`, options.onError, error);
      } finally {
        deadline.end();
      }
      if (!verdict) return { suspended: reason ?? 'Nobody has decided yet.', kind: 'approval' };
      if (verdict.type === 'reject') return deniedResult(call.toolUse, verdict.reason);
      let approved: Awaited<ReturnType<typeof prepareCall>> = call;
      if (verdict.type === 'edit') {
        const edited = { ...call.toolUse, input: verdict.input };
        approved = await prepareCall(onlyTool(call.tool), edited);
      }
      if (!approved.ok) return approved.result;
      await start(run, approved.toolUse);
      return next(approved, context);
    };
  return { needsApproval, asksApproval: true, wrapCall: runs.wrapCall, wrapTool };
}

/** So that a rule that says nothing, or a misspelt one, does not let calls through. */
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

/** From now on it may have had effects. */
async function start(run: Run, toolUse: ToolUse): Promise<void> {
  const { id: toolUseId } = toolUse;
  const { memory, status } = run.setup;
  const state = status.calls.get(toolUseId)!;
  delete state.pending;
  Object.assign(state, { toolUse, approved: true, started: true });
  const decision = { toolUseId, type: 'approve' } as const;
  await memory.note?.(
    [
      { kind: 'decision', decision },
      { kind: 'call-started', toolUseId, toolUse },
    ],
    { now: true },
  );
}

function checked(verdict: Verdict): Verdict {
  if (verdict === undefined) return verdict;
  checkFields(
    'INVALID_DECISION',
    'The verdict',
    verdict,
    'type:approve|edit|reject reason:string|?',
  );
  if (verdict.type === 'edit' && verdict.input === undefined)
    throw new AgentError('INVALID_DECISION', 'The verdict edits, but has no input.');
  return verdict;
}

function onlyTool(tool: Tool): ToolSet {
  const set: ToolSet = { find: () => tool, schemas: () => [tool.schema], fork: () => set };
  return set;
}
