import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { ToolSet } from '../../tool/tool-set.ts';

export interface ApprovalRule {
  /** Text for the person who decides: the `reason` of the pending call. */
  readonly description?: string;
  /** Whether a call needs approval; default: all calls do. `input` has passed the tool's schema. */
  readonly when?: (input: unknown, call: ToolUse) => Awaitable<boolean>;
}

/** Rules by the name of a tool, or by a pattern such as `mail_*`. A string is the description. */
export type ApprovalRules = Readonly<Record<string, true | string | ApprovalRule>>;

interface ApprovalRuleBook {
  /** Returns the rule of a tool. The rule that names it wins over patterns, of which the first wins. */
  of(toolName: string): ApprovalRule | undefined;
  /** Throws `CONFIGURATION` if a rule names a tool that the set does not know. */
  check(tools: ToolSet): void;
}

/** Reads the rules. Throws `CONFIGURATION` for a rule or a pattern of the wrong kind. */
export function approvalRules(given: ApprovalRules): ApprovalRuleBook {
  const rules = Object.entries(given).map(([key, rule]) => [key, toRule(key, rule)] as const);
  const named = new Map(rules.filter(([key]) => !isPattern(key)));
  const patterns = rules
    .filter(([key]) => isPattern(key))
    .map(([key, rule]) => ({ expression: toRegExp(key), rule }));
  return {
    of: (name) => named.get(name) ?? patterns.find(({ expression }) => expression.test(name))?.rule,
    check(tools) {
      const unknown = [...named.keys()].filter((name) => tools.find(name) === undefined);
      if (unknown.length) throw unknownTools(unknown, tools);
    },
  };
}

/**
 * Checks a rule. An empty or misspelled rule covers all calls, so that none runs without approval.
 */
function toRule(key: string, rule: true | string | ApprovalRule): ApprovalRule {
  if (rule === true) return {};
  if (typeof rule === 'string') return { description: rule };
  const about = `humanInTheLoop(): approvalOn.${key}`;
  checkFields('CONFIGURATION', about, rule, 'description:string|? when:function|?');
  return rule;
}

function isPattern(key: string): boolean {
  return key.includes('*');
}

/**
 * Returns the pattern as a regular expression. Throws `CONFIGURATION` for characters that no tool's
 * name has: such a pattern, like `mail_.*`, would cover nothing.
 */
function toRegExp(pattern: string): RegExp {
  if (!/^[\w*-]+$/.test(pattern))
    throw new AgentError(
      'CONFIGURATION',
      `humanInTheLoop(): approvalOn has the pattern "${pattern}". A pattern may have letters, digits, _, - and *.`,
    );
  return new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
}

function unknownTools(names: readonly string[], tools: ToolSet): AgentError {
  const list = names.map((name) => `"${name}"`).join(', ');
  const known = tools.schemas().map(({ name }) => name);
  const message = `humanInTheLoop(): approvalOn names tools that the agent does not have: ${list}. It has: ${known.join(', ') || 'none'}. For tools that come later, use a pattern such as "mail_*".`;
  return new AgentError('CONFIGURATION', message, { details: { tools: [...names] } });
}
