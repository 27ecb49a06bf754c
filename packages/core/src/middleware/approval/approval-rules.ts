import { misconfigured, checkOptions } from '../../error/agent-error.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { ToolUse } from '../../message/msg.ts';
import { outputToolName } from '../../schema/output-format.ts';
import { isPattern, nameMatcher } from '../../tool/name-pattern.ts';
import type { ReadyCall } from '../../tool/tool-call.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';

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
  /** Returns whether a tool call needs an approval; a text is the description of its rule. */
  needs(call: ReadyCall, context: RunContext): Promise<boolean | string>;
  /** Throws `CONFIGURATION` if a rule names a tool that is not in the set. */
  check(tools: ToolSet): void;
}

/** Converts the rules. Throws `CONFIGURATION` for a rule or a pattern of the wrong kind. */
export function approvalRules(given: ApprovalRules): ApprovalRuleBook {
  if (Array.isArray(given))
    throw misconfigured(`${where} must be an object such as { "mail_*": true }; got an array.`);
  const rules = Object.entries(given).map(([key, rule]) => [key, toRule(key, rule)] as const);
  const named = new Map(rules.filter(([key]) => !isPattern(key)));
  const patterns = rules
    .filter(([key]) => isPattern(key))
    .map(([key, rule]) => ({ fits: nameMatcher(where, [key]), rule }));
  return {
    async needs({ tool, input, toolUse }, { addedTools }) {
      // A structured value is an answer, although it comes as a tool call.
      const isAnswer = tool.name === outputToolName && addedTools.includes(tool);
      const pattern = isAnswer ? undefined : patterns.find(({ fits }) => fits(tool.name));
      const rule = named.get(tool.name) ?? pattern?.rule;
      if (!rule) return false;
      const { when = () => true, description = true } = rule;
      const holds = await when(input, toolUse);
      return holds && description;
    },
    check(tools) {
      const unknown = [...named.keys()].filter((name) => tools.find(name) === undefined);
      if (!unknown.length) return;
      const list = unknown.map((name) => `"${name}"`).join(', ');
      const known = tools.schemas().map(({ name }) => name);
      const wrong = `${where} names tools that the agent does not have: ${list}`;
      const advice = 'For tools that come later, use a pattern such as "mail_*".';
      const message = `${wrong}. It has: ${known.join(', ') || 'none'}. ${advice}`;
      throw misconfigured(message, { details: { tools: unknown } });
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
  const about = `${where}.${key}: a rule other than a boolean or a string`;
  checkOptions(about, rule, 'description:string|? when:function|?');
  return rule;
}
