import { misconfigured } from '../error/agent-error.ts';
import { fence } from '../message/text.ts';
import {
  contextSection,
  documentsText,
  type RetrievedDocument,
} from '../message/retrieved-document.ts';
import { readSchema, type SchemaLike } from '../schema/schema.ts';
import { formatInstruction } from '../schema/output-format.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { array, either, func, object, oneOf, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';

/** Parts of a system prompt, in the order in which `systemPrompt()` joins them. */
export interface SystemPromptOptions {
  /** Main text of the prompt. It comes first and is not changed. */
  readonly base: string;
  /** Documents or text that were retrieved for the request. An empty value adds no section. */
  readonly context?: string | readonly RetrievedDocument[];
  /**
   * Further text from outside, by section name. A section name consists of letters, digits, `_` and
   * `-`. Blank sections are left out.
   */
  readonly sections?: Readonly<Record<string, string>>;
  /**
   * Format of the answer, which the prompt then requires. Do not set it with `jsonMode()` or
   * `yamlMode()`, which add this instruction themselves.
   */
  readonly format?: 'json' | 'yaml';
  /** Schema of the answer. Needs a `format`. */
  readonly schema?: SchemaLike;
}

/**
 * Builds a system prompt from its parts, with a blank line between them. The parts in their order:
 * the base, the sections, the retrieved text, and the answer format. Variables are not rendered.
 * Text from outside is put between the tags of its section. It cannot close these tags or open
 * another section. Throws `CONFIGURATION` for an invalid option. Source: Arc Reactor.
 */
export function systemPrompt(options: SystemPromptOptions): string {
  checkOptions('systemPrompt()', options, systemPromptOptions);
  const { base, context = '', sections = {}, format, schema } = options;
  if (schema && !format)
    throw misconfigured("systemPrompt(): `schema` needs `format: 'json'` or `format: 'yaml'`.");
  const names = Object.keys(sections);
  names.forEach(checkName);

  const outside = names.map(
    (name) => sections[name]!.trim() && fence(name, sections[name]!, names),
  );
  const contextText = typeof context === 'string' ? context : documentsText(context);
  const retrieved = contextText.trim() && contextSection(contextText, names);
  return [base.trim() && base, ...outside, retrieved, format && formatSection(format, schema)]
    .filter(Boolean)
    .join('\n\n');
}

function formatSection(format: 'json' | 'yaml', schema: SchemaLike | undefined): string {
  const jsonSchema = schema === undefined ? {} : readSchema('systemPrompt()', schema).jsonSchema;
  const instruction = formatInstruction(format === 'json' ? 'JSON' : 'YAML', jsonSchema);
  return `<response_format>\n${instruction}\n</response_format>`;
}

function checkName(name: string): void {
  if (/^[\w-]{1,64}$/.test(name) && !reserved.test(name)) return;
  throw misconfigured(
    `systemPrompt(): "${name}" cannot be the name of a section. ` +
      'Use at most 64 letters, digits, _ and -, and none of the names of its own sections.',
  );
}

const reserved = /^(?:retrieved_context|response_format|long_term_memory)$/i;

const systemPromptOptions: OptionTable<SystemPromptOptions> = {
  base: string,
  context: optional(either(string, array)),
  sections: optional(object),
  format: optional(oneOf('json', 'yaml')),
  schema: optional(either(object, func)),
};
