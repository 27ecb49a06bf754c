import { AgentError, messageOf } from '@isoloop/core';
import { isError, jsonForm } from '@isoloop/core/adapter';
import type { JsonValue, Tool, ToolContext, ToolUse } from '@isoloop/core';
import type { ContextEntry, ContextToken } from '@isoloop/core/tools';
import { pagePart, type PagePart } from './page-part.ts';
import type { ToolOffer } from '../wire/protocol.ts';

export interface PageToolsOptions {
  /** Values the tools get for their tokens, made with `provide()`. They never leave the page. */
  readonly context?: Iterable<ContextEntry>;
}

/** The fields of a tool's context that cross to the page. */
export type SentContext = Pick<
  ToolContext,
  | 'sessionId'
  | 'userId'
  | 'runId'
  | 'toolUseId'
  | 'messages'
  | 'idempotencyKey'
  | 'agentPath'
  | 'decision'
>;

/** Worker to page: a question to a tool. */
export type ToolQuestion = { readonly name: string; readonly input: unknown } & (
  | { readonly type: 'check' }
  | { readonly type: 'approval'; readonly call: ToolUse }
  | { readonly type: 'run'; readonly context: SentContext }
);

/** Page to worker: the outcome of a tool run. */
export type ToolAnswer = { readonly output: unknown } | { readonly suspended: string };

/** Page to worker, while a tool runs. */
export type ToolProgress =
  | { readonly emitted: JsonValue }
  | { readonly forwarded: readonly unknown[] }
  | { readonly interrupt: Parameters<ToolContext['interrupt']>[0] };

/**
 * Offers tools that run on the page, for `connectAgent`'s `page`. The agent uses them with `tools:
 * page.tools`. They cross as JSON Schema; the page validates their input. The model sees what a
 * tool throws, as it does for tools in the worker. It also sees the error of a result without a JSON
 * form. A tool that never returns ends at its `timeoutMs`. If the page leaves during a call, the
 * call suspends. Throws `CONFIGURATION` if two tools share a name or an item is not a tool.
 */
export function pageTools(
  tools: readonly Tool[],
  { context = [] }: PageToolsOptions = {},
): PagePart {
  const offers = tools.map(toOffer);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  if (byName.size < tools.length)
    throw new AgentError('CONFIGURATION', 'Two page tools have the same name.');
  const provided = new Map<unknown, unknown>([...context].map(([token, value]) => [token, value]));

  return pagePart<ToolQuestion>(
    { kind: 'tools', tools: offers },
    async (question, { signal, tell }) => {
      const { name, input } = question;
      const tool = byName.get(name)!;
      if (question.type === 'approval')
        return needsApproval(tool, await checked(tool, input), question.call);
      if (question.type === 'check') {
        const { ok, ...rest } = await tool.input.validate(input);
        return { ok, issues: 'issues' in rest ? rest.issues : [] };
      }
      const toolContext: ToolContext = {
        ...question.context,
        signal,
        emit(progress) {
          const emitted = jsonForm(progress, `The progress of "${name}"`) ?? null;
          tell({ emitted } satisfies ToolProgress);
        },
        forward: (forwarded) => tell({ forwarded } satisfies ToolProgress),
        get<T>(token: ContextToken<T>): T {
          if (!provided.has(token))
            throw new AgentError(
              'CONFIGURATION',
              `Nothing is provided on the page for "${token.name}".`,
            );
          return provided.get(token) as T;
        },
        interrupt(request) {
          tell({ interrupt: request } satisfies ToolProgress);
          return true;
        },
        suspend(suspended) {
          throw { suspended };
        },
      };
      try {
        const output = await tool.execute!(await checked(tool, input), toolContext);
        return { output: outputOf(name, output) } satisfies ToolAnswer;
      } catch (error) {
        const { suspended } = Object(error) as { readonly suspended?: unknown };
        if (typeof suspended === 'string') return { suspended } satisfies ToolAnswer;
        throw error;
      }
    },
  );
}

function toOffer(tool: Tool): ToolOffer {
  const {
    timeoutMs,
    needsApproval: needs,
    replay,
    returnDirect,
    takesDecisions,
    execute,
  } = Object(tool) as Partial<Tool>;
  if (!tool?.schema || !execute)
    throw new AgentError(
      'CONFIGURATION',
      'pageTools() takes tools with an `execute`, as tool() makes them.',
    );
  const { name, description, parameters, strict } = tool.schema;
  return {
    schema: { name, description, parameters, ...(strict !== undefined && { strict }) },
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(needs && { needsApproval: true }),
    ...(replay && { replay }),
    ...(returnDirect && { returnDirect }),
    ...(takesDecisions && { takesDecisions }),
  };
}

function needsApproval(
  { needsApproval: needs }: Tool,
  input: unknown,
  call: ToolUse,
): boolean | Promise<boolean> {
  return typeof needs === 'function' ? needs(input, call) : needs === true;
}

/**
 * Returns the input as the schema transformed it. This happens on the page because the result may
 * not be cloneable.
 */
async function checked({ name, input: schema }: Tool, input: unknown): Promise<unknown> {
  const validation = await schema.validate(input);
  if (validation.ok) return validation.value;
  throw new AgentError(
    'INVALID_INPUT',
    `The arguments of "${name}" do not fit its schema: ${validation.issues.join('; ')}`,
  );
}

/**
 * Returns the output as JSON, because an instance would lose its class on the way. Throws an error
 * that the tool returned.
 */
function outputOf(name: string, output: unknown): unknown {
  if (isError(output)) throw new AgentError('INVALID_INPUT', messageOf(output), { cause: output });
  return jsonForm(output, `The result of the page tool "${name}"`);
}
