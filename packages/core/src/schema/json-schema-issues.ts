import type { OutputUnit, Schema as JsonSchemaNode } from '@cfworker/json-schema';

type Lookup = Readonly<Record<string, JsonSchemaNode | boolean>>;

interface JsonSchemaIssue {
  readonly message: string;
  readonly path: readonly string[];
  /** Issues of the forms of a union, with paths within the union. */
  readonly errors?: readonly (readonly JsonSchemaIssue[])[];
}

/** Keywords whose errors only repeat the errors that follow them in the list. */
const wrappers =
  /^(?:\$ref|\$recursiveRef|allOf|if|properties|patternProperties|additionalProperties|unevaluatedProperties|prefixItems|items|additionalItems|unevaluatedItems|dependentSchemas)$/;

/** Maximum number of forms of a union that a message lists. */
const maxForms = 8;

/**
 * Converts the validator's errors to issues for the model, with their path in the value. In
 * `errors`, the error of an outer schema comes before the errors of its inner schemas.
 */
export function toIssues(
  errors: readonly OutputUnit[],
  valueAt: ValueAt,
): readonly JsonSchemaIssue[] {
  const issues: JsonSchemaIssue[] = [];
  for (let index = 0; index < errors.length; index += 1) {
    const error = errors[index]!;
    const { keyword } = error;
    const path = pathOf(error.instanceLocation);
    if (wrappers.test(keyword)) continue;
    const missing = /required property "([\s\S]*)"\.$/.exec(error.error)?.[1];
    if (keyword === 'required' && missing !== undefined) {
      issues.push({ path: [...path, missing], message: 'is required' });
      continue;
    }
    if (keyword !== 'anyOf' && keyword !== 'oneOf') {
      issues.push({ path, message: issueText(error, valueAt) });
      continue;
    }
    const unionErrors = errorsWithin(errors, index);
    index += unionErrors.length;
    const issuesWithin = withinPath(toIssues(unionErrors, valueAt), path.length);
    const message = unionMessage(error, unionErrors, valueAt);
    issues.push({ path, message, ...(issuesWithin.length && { errors: [issuesWithin] }) });
  }
  return issues;
}

/** Returns the issues with paths from this depth on. */
function withinPath(issues: readonly JsonSchemaIssue[], depth: number): readonly JsonSchemaIssue[] {
  return issues.map((issue) => ({ ...issue, path: issue.path.slice(depth) }));
}

/**
 * Returns the errors that belong to the union error at `index`. They follow that error. An error of
 * a `false` schema has no location of its own.
 */
function errorsWithin(errors: readonly OutputUnit[], index: number): readonly OutputUnit[] {
  const { keywordLocation } = errors[index]!;
  const laterErrors = errors.slice(index + 1);
  const end = laterErrors.findIndex(
    (error) =>
      error.keyword !== 'false' && !error.keywordLocation.startsWith(`${keywordLocation}/`),
  );
  return end < 0 ? laterErrors : laterErrors.slice(0, end);
}

function unionMessage(
  error: OutputUnit,
  unionErrors: readonly OutputUnit[],
  valueAt: ValueAt,
): string {
  const { keywordLocation, instanceLocation } = error;
  const matchCount = Number(/\((\d+) matches\)/.exec(error.error)?.[1] ?? 0);
  if (matchCount) return `fits ${matchCount} of the forms, must fit exactly one`;
  /** The errors of each form, by its number. */
  const forms = new Map<string, OutputUnit[]>();
  let formNumber = '';
  for (const unit of unionErrors) {
    if (unit.keyword !== 'false')
      formNumber = unit.keywordLocation.slice(keywordLocation.length + 1).split('/', 1)[0]!;
    forms.set(formNumber, [...(forms.get(formNumber) ?? []), unit]);
  }
  const depth = pathOf(instanceLocation).length;
  const lines = [...forms.values()].slice(0, maxForms).map((units) => {
    const issues = withinPath(toIssues(units, valueAt), depth);
    const words = issues.map(({ path, message }) => `${path.join('.')} ${message}`.trim());
    return words.join(', ');
  });
  const ending = forms.size > maxForms ? ` or ${forms.size - maxForms} more` : '';
  return `fits none of the forms: ${[...new Set(lines)].join(' | ')}${ending}`;
}

function issueText(error: OutputUnit, valueAt: ValueAt): string {
  const { keyword } = error;
  if (keyword === 'false') return 'is not allowed';
  if (keyword === 'not') return 'must not match the schema in "not"';
  if (keyword === 'type') {
    const [, actual, expected] =
      /^Instance type "(.*)" is invalid\. Expected "(.*)"\.$/.exec(error.error) ?? [];
    if (expected) return `must be ${expected.replaceAll('", "', ' or ')}, is ${actual}`;
  }
  if (keyword === 'maxProperties')
    return `has more than ${String(valueAt(error.keywordLocation))} properties`;
  if (keyword === 'pattern') return `must match ${String(valueAt(error.keywordLocation))}`;
  return error.error
    .replace(/^Instance does not match any of /, 'must be one of ')
    .replace(/^Instance does not match /, 'must be ')
    .replace(/^Instance /, '')
    .replace(/^(?:String|Array) is /, 'is ')
    .replace(/\.$/, '');
}

/** Returns the value at a location in the schema. */
type ValueAt = (location: string) => unknown;

/** Returns a function that reads a schema. Follows each `$ref` in the location. */
export function readerOf(root: JsonSchemaNode, lookup: Lookup): ValueAt {
  return (location) => {
    let node: unknown = root;
    for (const key of pathOf(location)) {
      const { $ref = '', __absolute_ref__ = $ref } = node as JsonSchemaNode;
      node = key === '$ref' ? lookup[__absolute_ref__] : (node as Record<string, unknown>)[key];
    }
    return node;
  };
}

/** Returns the keys of a location such as `#/a/b~1c`. */
function pathOf(location: string): readonly string[] {
  return location
    .split('/')
    .slice(1)
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));
}
