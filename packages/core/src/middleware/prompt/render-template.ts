import { invalidInput, checkOptions } from '../../error/agent-error.ts';
import { jsonCopy, type JsonValue } from '../../message/json.ts';

/**
 * Values by variable name. Strings are inserted as they are, and other values as JSON. `undefined`
 * means that the variable has no value.
 */
export type TemplateVariables = Readonly<Record<string, JsonValue | undefined>>;

/** How a template marks its variables, and what happens if one has no value. */
export interface TemplateOptions {
  /**
   * Syntax of a variable. `${name}` (default) is OxyGent's, and `{name}` is Spring AI Alibaba's.
   */
  readonly form?: '${}' | '{}';
  /**
   * What happens to a variable without a value. `keep` (default) leaves it as written. `fail`
   * throws `INVALID_INPUT`, with the names of all such variables in `details.missing`.
   */
  readonly missing?: 'keep' | 'fail';
}

/**
 * Replaces the variables of a text with their values, in one pass, so that inserted values are not
 * rendered. A name consists of letters of any script, digits and `_`. Other braces, such as those
 * of JSON, stay as they are. Throws `INVALID_INPUT` if `text` is not a string, if another argument
 * has the wrong kind, or with `missing: 'fail'`.
 */
export function renderTemplate(
  text: string,
  variables: TemplateVariables,
  options: TemplateOptions = {},
): string {
  const fields = 'text:string variables:object form:${}|{}|? missing:keep|fail|?';
  checkOptions('renderTemplate()', { ...options, text, variables }, fields, 'INVALID_INPUT');
  const { form = '${}', missing: whenMissing = 'keep' } = options;
  const missing = new Set<string>();
  const rendered = text.replace(form === '{}' ? inBraces : afterDollar, (written, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value !== undefined) return textOf(name, value);
    missing.add(name);
    return written;
  });
  if (whenMissing === 'keep' || !missing.size) return rendered;
  const names = [...missing];
  throw invalidInput(`No value for ${names.join(', ')}.`, { details: { missing: names } });
}

function textOf(name: string, value: JsonValue): string {
  if (typeof value === 'string') return value;
  const json = jsonCopy(value);
  if (json !== undefined) return JSON.stringify(json);
  throw invalidInput(`The prompt variable "${name}" has no JSON form: it is a ${typeof value}.`);
}

const afterDollar = /\$\{([\p{L}\p{N}_]+)\}/gu;
const inBraces = /\{([\p{L}\p{N}_]+)\}/gu;
