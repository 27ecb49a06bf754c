import { misconfigured, checkOptions } from '../../error/agent-error.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { ToolUse } from '../../message/msg.ts';
import { isNamePattern, nameMatcher } from '../../tool/name-pattern.ts';
import { type ReadyCall, prepareCall } from '../../tool/tool-call.ts';
import { type ToolSet, toolsIn } from '../../tool/set/tool-set.ts';
import type { Agent } from '../../agent/agent.ts';
import type { Middleware, OpenCall, RunContext } from '../../agent/middleware.ts';

/**
 * Returns whether a tool call needs an approval; a text is the reason for the person who decides.
 */
export type NeedsApproval = (call: ReadyCall, context: RunContext) => Awaitable<boolean | string>;

/** Middleware that decides when tool calls need an approval. */
export interface ApprovalMiddleware extends Middleware {
  /** Whether it may ask for an approval that the tool itself does not need. */
  readonly mayNeedApproval: boolean;
}

/** Returns whether a middleware is `approvals()`. */
export function isApprovals(part: Middleware): part is ApprovalMiddleware {
  return 'mayNeedApproval' in part;
}

/** Returns whether the tool itself says that a call needs an approval. */
export function toolNeedsApproval({ tool, input, toolUse }: ReadyCall): Awaitable<boolean> {
  const { needsApproval = false } = tool;
  if (typeof needsApproval === 'boolean') return needsApproval;
  const ask = async (): Promise<boolean> => needsApproval(input, toolUse);
  return ask();
}

/** Returns whether a tool call still needs an approval. Runs no hooks. */
export async function isUndecided(
  { toolUse, state, result }: OpenCall,
  context: RunContext,
  needs: NeedsApproval,
): Promise<boolean> {
  if (state.decision || state.approved || result) return false;
  if (state.pending) return state.pending.kind === 'approval';
  try {
    const call = await prepareCall(context.tools, toolUse);
    return call.ok && Boolean(await needs(call, context));
  } catch {
    // The call fails with this error when it runs.
    return false;
  }
}

/** Returns a tool call as one that has not started, unless the log says whether it has. */
export function withoutStart(call: OpenCall): OpenCall {
  return call.isNoted ? call : { ...call, state: { ...call.state, started: false } };
}

/**
 * Returns whether a tool call of the agent may wait for an approval. Includes the tools of inactive
 * groups and the tools of child agents. Leaves out child agents that a factory creates later.
 */
export function mayNeedApproval({ tools, use }: Pick<Agent, 'tools' | 'use'>): boolean {
  return (
    use.some((part) => isApprovals(part) && part.mayNeedApproval) ||
    toolsIn(tools).some((tool) => tool.needsApproval || tool.mayNeedApproval?.())
  );
}

/** Which calls of a tool need an approval, and how to describe them to a person. */
export interface ApprovalRule {
  /** Text for the person who decides. It becomes the `reason` of the pending tool call. */
  readonly description?: string;
  /**
   * Returns whether a tool call needs approval. `input` is valid by the tool's schema. Default: all
   * tool calls of the tool need approval.
   */
  readonly when?: (input: unknown, call: ToolUse) => Awaitable<boolean>;
}

/**
 * Approval rules by the name of a tool, or by a pattern such as `mail_*`. A string is the
 * description. With `false`, a tool needs no approval even if a pattern matches its name.
 */
export type ApprovalRules = Readonly<Record<string, boolean | string | ApprovalRule>>;

const where = 'approvals(): needsApproval';

export interface ApprovalRuleBook {
  /** Returns the description of the rule that asks for an approval, if it has one. */
  readonly needs: NeedsApproval;
  /** Throws `CONFIGURATION` if a rule names a tool that is not in the set. */
  check(tools: ToolSet): void;
}

/** Converts the rules. Throws `CONFIGURATION` for a rule or a pattern of the wrong kind. */
export function approvalRules(rules: ApprovalRules): ApprovalRuleBook {
  const entries = Object.entries(rules).map(([key, rule]) => ({
    key,
    fits: nameMatcher(where, [key]),
    rule: toRule(key, rule),
  }));
  const patternRules = entries.filter(({ key }) => isNamePattern(key));
  const exactRules = entries.filter(({ key }) => !isNamePattern(key));
  return {
    async needs(call) {
      const { tool, input, toolUse } = call;
      const isNeededByTool = await toolNeedsApproval(call);
      // A structured value is an answer, although it comes as a tool call.
      const candidates = tool.givesAnswer ? exactRules : [...exactRules, ...patternRules];
      const found = candidates.find(({ fits }) => fits(tool.name));
      if (!found) return isNeededByTool;
      const { when = () => true, description } = found.rule;
      const isMet = await when(input, toolUse);
      return isMet ? description || true : isNeededByTool;
    },
    check(tools) {
      const names = toolsIn(tools).map(({ name }) => name);
      const unknown = exactRules
        .map(({ key }) => key)
        .filter((name) => !names.includes(name) && tools.find(name) === undefined);
      if (!unknown.length) return;
      const list = unknown.map((name) => `"${name}"`).join(', ');
      throw misconfigured(
        `${where} names tools that the agent does not have: ${list}. It has: ${names.join(', ') || 'none'}. For tools that come later, use a pattern such as "mail_*".`,
        { details: { tools: unknown } },
      );
    },
  };
}

/**
 * Converts one rule. An empty rule covers all calls of its tool, so that none of them runs without
 * approval.
 */
function toRule(key: string, rule: boolean | string | ApprovalRule): ApprovalRule {
  if (typeof rule === 'boolean') return { when: () => rule };
  if (typeof rule === 'string') return { description: rule };
  const what = `${where}.${key}: a rule other than a boolean or a string`;
  checkOptions(what, rule, 'description:string|? when:function|?');
  return rule;
}
