import { misconfigured } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { Awaitable } from '../event/hook.ts';
import type { ToolUse } from '../message/msg.ts';
import { isNamePattern, nameMatcher } from '../tool/name-pattern.ts';
import { type ToolSet, toolsIn } from '../tool/set/tool-set.ts';
import { reasonOfTool, type ReasonFor } from './approval-need.ts';

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

/** Converted rules. */
interface ApprovalRuleBook {
  /** The reason is the description of the rule that asks for an approval, if it has one. */
  readonly reasonFor: ReasonFor;
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
    async reasonFor(call) {
      const { tool, input, toolUse } = call;
      const ownReason = await reasonOfTool(call);
      // A structured value is an answer, although it comes as a tool call.
      const candidates = tool.givesAnswer ? exactRules : [...exactRules, ...patternRules];
      const found = candidates.find(({ fits }) => fits(tool.name));
      if (!found) return ownReason;
      const { when = () => true, description } = found.rule;
      const isMet = await when(input, toolUse);
      return isMet ? description || true : ownReason;
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
  checkOptions(what, rule, approvalRule);
  return rule;
}

const approvalRule: OptionTable<ApprovalRule> = {
  description: optional(string),
  when: optional(func),
};
