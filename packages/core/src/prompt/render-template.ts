import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { JsonValue } from '../message/json.ts';

/** Text goes in as it is, anything else as its JSON; `undefined` is no value. */
export type TemplateVariables = Readonly<Record<string, JsonValue | undefined>>;

export interface TemplateOptions {
  /** How a variable is written: `${name}` (default; OxyGent), or `{name}` (Spring AI Alibaba). */
  readonly form?: '${}' | '{}';
  /**
   * A variable without a value: stays as it is written (default), or fails with `INVALID_INPUT`,
   * all such names in `details.missing`.
   */
  readonly missing?: 'keep' | 'fail';
}

/**
 * Puts values in the place of a text's variables, in one pass: what was put in is not looked at
 * again. A name has letters of any script, digits and `_`; all other braces, as those of JSON, are
 * text. Throws `INVALID_INPUT` for a text that is none.
 */
export function renderTemplate(
  text: string,
  variables: TemplateVariables,
  options: TemplateOptions = {},
): string {
  checkFields(
    'INVALID_INPUT',
    'renderTemplate()',
    { ...options, text, variables },
    'text:string variables:object form:${}|{}|? missing:keep|fail|?',
  );
  const { form = '${}', missing: whenMissing = 'keep' } = options;
  const missing = new Set<string>();
  const rendered = text.replace(form === '{}' ? inBraces : afterDollar, (written, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value !== undefined) return typeof value === 'string' ? value : JSON.stringify(value);
    missing.add(name);
    return written;
  });
  if (whenMissing === 'keep' || !missing.size) return rendered;
  const names = [...missing];
  throw new AgentError('INVALID_INPUT', `No value for ${names.join(', ')}.`, {
    details: { missing: names },
  });
}

const afterDollar = /\$\{([\p{L}\p{N}_]+)\}/gu;
const inBraces = /\{([\p{L}\p{N}_]+)\}/gu;
