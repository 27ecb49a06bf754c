import type { Run } from '../agent/middleware.ts';
import { isPlain, isObjectOrArray, parseJson, type JsonValue } from '../message/json.ts';
import { textOf, type Msg } from '../message/msg.ts';
import { afterSystem, systemTextAdder } from '../message/conversation/system-message.ts';
import { formatInstruction } from '../schema/output-format.ts';
import type { Schema, Validation } from '../schema/schema.ts';
import type { AnswerParts, ParsedOutput, OutputForm } from './output-form.ts';

/** An output that was found in a reply. */
interface Candidate {
  readonly json: JsonValue;
  /**
   * Part of the reply that contains the value. Absent if the text of the answer is the value as
   * JSON.
   */
  readonly text?: string;
}

/** The language in which the text of an answer has the output. */
export interface TextSyntax {
  readonly name: 'JSON' | 'YAML';
  /** Returns the possible values in a reply, the most likely first. */
  read(text: string): Iterable<Candidate>;
}

/** Who wrote the schema, and how the answer's text has the output. */
export interface TextFormOptions {
  /** See `StructuredOptions`. */
  readonly responseSchema?: boolean | undefined;
  /** Default: JSON. */
  readonly syntax?: TextSyntax;
  /**
   * Who wrote the schema. The words of a client are never a part of the system prompt: a message of
   * the user has them. Default: `program`.
   */
  readonly origin?: 'program' | 'client';
}

/**
 * Gets the output from the text of the answer. Each request contains the schema, in the system
 * prompt or in a message of the user. The schema is never stored.
 */
export function textForm(
  run: Run,
  schema: Schema<unknown>,
  { responseSchema, syntax = jsonSyntax, origin = 'program' }: TextFormOptions = {},
): OutputForm {
  const { name } = syntax;
  const instruction = formatInstruction(name, schema.jsonSchema);
  const addedLater = run.createMessage(origin === 'client' ? 'user' : 'system', instruction);
  const addToSystem = systemTextAdder(() => addedLater);
  const addInstruction = (messages: readonly Msg[]): readonly Msg[] =>
    origin === 'client' ? afterSystem(messages, addedLater) : addToSystem(messages, instruction);
  return {
    schema,
    addedLater,
    limitPrompt: `Your steps are used up. Give your answer now, as ${name} alone.`,
    adaptRequest(request) {
      const messages = addInstruction(request.messages);
      const isObject = schema.jsonSchema['type'] === 'object';
      const isOffered = isObject && (responseSchema ?? !request.tools.length);
      const offered = isOffered && { responseSchema: schema.jsonSchema };
      return { ...request, messages, replyFor: 'program', ...offered };
    },
    read: (reply) => readText(schema, syntax, textOf(reply)),
    writtenText: textOf,
    correctionText(issues) {
      const lines = issues.map((issue) => `- ${issue}`).join('\n');
      const problem = `Your answer does not fit the schema:\n${lines}`;
      return `${problem}\nAnswer again, with the corrected ${name} alone.`;
    },
    answer: (parts) => textAnswer(parts, run),
  };
}

/** Creates the answer: the reply, whose text is the value alone. */
async function textAnswer({ reply, text, metadata }: AnswerParts, run: Run): Promise<Msg> {
  const isSame = textOf(reply) === text;
  const blocks = reply.content.filter(
    ({ type }) => type !== 'tool_use' && (isSame || type !== 'text'),
  );
  const content = isSame ? blocks : [...blocks, { type: 'text', text } as const];
  const message: Msg = { ...reply, content, metadata: { ...reply.metadata, ...metadata } };
  if (!isSame) await run.events.emit('step-reset', { reason: 'output', replacement: message });
  return message;
}

/**
 * Returns the first value in the text that passes the schema. If no value passes, returns the
 * issues of the first value.
 */
async function readText(
  schema: Schema<unknown>,
  syntax: TextSyntax,
  text: string,
): Promise<Validation<ParsedOutput>> {
  let firstFailure: Validation<ParsedOutput> | undefined;
  for (const candidate of syntax.read(text)) {
    const validation = await checkCandidate(schema, candidate);
    if (validation.ok) return validation;
    firstFailure ??= validation;
  }
  const json = text.trim();
  // If the schema asks for a string, the model may answer without quotes.
  if (!firstFailure && json && schema.jsonSchema['type'] === 'string')
    return checkCandidate(schema, { json });
  return firstFailure ?? { ok: false, issues: [`it is not valid ${syntax.name}`] };
}

async function checkCandidate(
  schema: Schema<unknown>,
  candidate: Candidate,
): Promise<Validation<ParsedOutput>> {
  const issue = shapeIssue(schema.jsonSchema['type'], candidate.json);
  if (issue) return { ok: false, issues: [issue] };
  const validation = await schema.validate(candidate.json);
  if (!validation.ok) return validation;
  return { ok: true, value: { ...candidate, value: validation.value } };
}

/**
 * Returns an issue if the schema asks for an object or an array and the output is another type.
 * For a schema given as plain JSON Schema, this is the only check of the output.
 */
function shapeIssue(type: JsonValue | undefined, json: JsonValue): string | undefined {
  const isArray = Array.isArray(json);
  if (type === 'object' && (!isObjectOrArray(json) || isArray)) return 'it is not an object';
  return type === 'array' && !isArray ? 'it is not an array' : undefined;
}

/** Finds JSON in the whole text, in a code fence, or between the first and the last bracket. */
export const jsonSyntax: TextSyntax = {
  name: 'JSON',
  *read(text) {
    for (const part of [text, ...fenceContents(text), bracketedText(text)]) {
      const json = parseJson(part);
      if (json !== undefined) yield { json };
    }
  },
};

/**
 * Finds YAML in the whole text or in a code fence. The text of the answer stays YAML. `parse` must
 * throw on invalid YAML.
 */
export function yamlSyntax(parse: (text: string) => unknown): TextSyntax {
  return {
    name: 'YAML',
    *read(text) {
      for (const part of [text, ...fenceContents(text)]) {
        const json = tryParse(parse, part);
        if (json !== undefined) yield { json, text: part };
      }
    },
  };
}

/**
 * Returns the contents of code fences. The text is split: a regular expression would search from
 * each character if a fence is not closed.
 */
function fenceContents(text: string): readonly string[] {
  const contents = text.split('```').filter((_, index) => index % 2 === 1);
  return contents.map((content) => content.replace(/^(?:\w*[^\S\n]*\n|\w+\s)/, '').trimEnd());
}

function bracketedText(text: string): string {
  return text.slice(
    Math.max(text.search(/[[{]/), 0),
    Math.max(text.lastIndexOf(']'), text.lastIndexOf('}')) + 1,
  );
}

function tryParse(parse: (text: string) => unknown, text: string): JsonValue | undefined {
  if (!text.trim()) return undefined;
  // Without aliases, a text has no more nodes than characters. More nodes mean that aliases expand
  // a small text to a huge value.
  let remaining = text.length + 1;
  const toJson = (value: unknown): JsonValue => {
    if (remaining-- < 0) throw new RangeError('too many nodes');
    const isText = typeof value === 'string' || typeof value === 'boolean';
    if (value === null || isText || Number.isFinite(value)) return value as JsonValue;
    if (Array.isArray(value)) return value.map(toJson);
    if (value instanceof Date) return value.toISOString();
    // An object of a class, such as a `Map` or a parser's document, has no JSON form.
    if (!isObjectOrArray(value) || !isPlain(value)) throw new TypeError('no JSON');
    const entries = Object.entries(value).map(([key, inner]) => [key, toJson(inner)] as const);
    return Object.fromEntries(entries);
  };
  try {
    return toJson(parse(text));
  } catch {
    return undefined;
  }
}
