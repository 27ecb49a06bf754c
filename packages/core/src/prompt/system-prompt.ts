import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import { fence } from '../message/fence.ts';
import { contextSection, documentsText } from './documents-text.ts';
import type { RetrievedDocument } from '../recall/retrieval/retriever.ts';
import type { SchemaLike } from '../schema/to-schema.ts';
import { readSchema } from '../output/output-schema.ts';
import { formatInstruction } from '../output/text-format.ts';

export interface SystemPromptOptions {
  /** The prompt itself. It goes first, as it is. */
  readonly base: string;
  /** What was found for the request. Empty: no such section. */
  readonly context?: string | readonly RetrievedDocument[];
  /**
   * Further text from outside, each in a section of its name: letters, digits, `_` and `-`. Blank
   * ones are left out.
   */
  readonly sections?: Readonly<Record<string, string>>;
  /**
   * Has the model answer in this format alone. Not beside `jsonMode()` or `yamlMode()`, which say
   * so themselves.
   */
  readonly format?: 'json' | 'yaml';
  /** What the answer has to fit. Needs a `format`. */
  readonly schema?: SchemaLike;
}

/**
 * A system prompt of its parts, with a blank line between them: the base, the sections, what was
 * retrieved, the format of the answer (Arc Reactor's order and parts). Nothing is a template: what
 * comes from outside is not rendered, stands between the tags of its section, and cannot close them
 * or open another's. Throws `CONFIGURATION`.
 */
export function systemPrompt(options: SystemPromptOptions): string {
  checkFields(
    'CONFIGURATION',
    'systemPrompt()',
    options,
    'base:string context:string|array|? sections:object|? format:json|yaml|? schema:object|function|?',
  );
  const { base, context = '', sections = {}, format, schema } = options;
  if (schema && !format)
    throw new AgentError('CONFIGURATION', 'systemPrompt(): a schema needs a format.');
  if (typeof context !== 'string')
    for (const document of context)
      checkFields('CONFIGURATION', 'A document', document, 'content:string source:string|?');
  if (Symbol.iterator in sections)
    throw new AgentError('CONFIGURATION', 'systemPrompt(): sections must have names.');
  const names = Object.keys(sections);
  names.forEach(checkName);

  const outside = names.map((name) => section(name, sections[name], names));
  const found = typeof context === 'string' ? context : documentsText(context);
  const retrieved = found.trim() && contextSection(found, names);
  return [base.trim() && base, ...outside, retrieved, format && formatSection(format, schema)]
    .filter(Boolean)
    .join('\n\n');
}

function section(name: string, text: unknown, names: readonly string[]): string {
  if (typeof text !== 'string')
    throw new AgentError(
      'CONFIGURATION',
      `systemPrompt(): the section "${name}" must be a string.`,
    );
  return text.trim() && fence(name, text, names);
}

function formatSection(format: 'json' | 'yaml', schema: SchemaLike | undefined): string {
  const jsonSchema = schema === undefined ? {} : readSchema('systemPrompt()', schema).jsonSchema;
  return `<response_format>\n${formatInstruction(format === 'json' ? 'JSON' : 'YAML', jsonSchema)}\n</response_format>`;
}

function checkName(name: string): void {
  if (
    /^[\w-]{1,64}$/.test(name) &&
    !/^(?:retrieved_context|response_format|long_term_memory)$/i.test(name)
  )
    return;
  throw new AgentError('CONFIGURATION', `systemPrompt(): "${name}" is no name of a section.`);
}
