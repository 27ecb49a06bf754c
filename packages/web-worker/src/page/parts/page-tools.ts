import {
  AgentError,
  errorText,
  type JsonValue,
  type Tool,
  type ToolContext,
  type ToolUse,
} from '@isoloop/core';
import { checkOptions, iterable, optional, array, type OptionTable } from '@isoloop/core/options';
import { jsonForm } from '@isoloop/core/message';
import type { ContextEntry, ContextToken } from '@isoloop/core/tool';
import { pagePart, type PagePart } from './page-part.ts';
import type { ToolOffer } from '../../wire/protocol.ts';

/** What the tools of a page get from outside, and which of them any tab may run. */
export interface PageToolsOptions {
  /**
   * Values for context tokens of the tools, created with `provide()`. The values never leave the
   * page.
   */
  readonly toolContext?: Iterable<ContextEntry>;
  /**
   * Names of the tools that a page in any visible tab may run. Default: none, so each tool runs on
   * the page that asked.
   */
  readonly anyVisibleTab?: readonly string[];
}

/** Fields of a tool's context that the worker sends to the page. */
type SentContext = Pick<
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

/**
 * Message from worker to page: a request about one tool. `check` validates the input, `approval`
 * returns whether the tool call needs approval, and `run` runs the tool.
 */
export type ToolPageCall = { readonly name: string; readonly input: unknown } & (
  | { readonly type: 'check' }
  | { readonly type: 'approval'; readonly call: ToolUse }
  | { readonly type: 'run'; readonly context: SentContext }
);

/**
 * Message from page to worker: the output of a tool, or the reason why the tool call is suspended.
 */
export type ToolPageResult = { readonly output: unknown } | Suspended;

interface Suspended {
  readonly suspended: true;
  readonly reason: string | undefined;
}

/** Message from page to worker while a tool runs. */
export type PageToolProgress =
  | { readonly emitted: JsonValue }
  | { readonly forwarded: readonly unknown[] }
  | { readonly interrupt: Parameters<ToolContext['interrupt']>[0] };

/**
 * Creates a part for the option `page` of `connectAgent` that offers tools which run on the page.
 * The agent uses them with `tools: page.tools`. The worker gets only the JSON Schema of a tool; the
 * page validates the input.
 *
 * If a tool throws or returns a value without a JSON form, the model gets an error result, as for
 * tools in the worker. A tool that does not return ends after its `timeoutMs`.
 *
 * A tool runs on the page that asked for the run, in whichever tab that is. If this page has
 * disconnected, or disconnects during the tool call, the tool call suspends. A tool without
 * `replay` has `ask`, so a person also decides after a crash of the worker. Throws `CONFIGURATION`
 * if two tools have the same name, an item is not a tool, or `anyVisibleTab` names another tool.
 */
export function pageTools(tools: readonly Tool[], options: PageToolsOptions = {}): PagePart {
  checkOptions('pageTools()', options, pageToolsOptions);
  const { toolContext: values = [], anyVisibleTab = [] } = options;
  const offers = tools.map((tool) => ({
    ...toOffer(tool),
    ...(anyVisibleTab.includes(tool.name) && { anyVisibleTab: true }),
  }));
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  if (byName.size < tools.length)
    throw new AgentError(
      'CONFIGURATION',
      `Two of these page tools have the same name: ${tools.map(({ name }) => name).join(', ')}.`,
    );
  const unknown = anyVisibleTab.find((name) => !byName.has(name));
  if (unknown !== undefined)
    throw new AgentError(
      'CONFIGURATION',
      `anyVisibleTab names "${unknown}", which is no tool here.`,
    );
  const contextValues = new Map<unknown, unknown>(
    [...values].map(([token, value]) => [token, value]),
  );

  return pagePart<ToolPageCall>(
    { kind: 'tools', tools: offers },
    async (pageCall, { signal, tell }) => {
      const { name, input } = pageCall;
      const tool = byName.get(name)!;
      if (pageCall.type === 'approval')
        return needsApproval(tool, await validInput(tool, input), pageCall.call);
      if (pageCall.type === 'check') {
        const { ok, ...rest } = await tool.input.validate(input);
        return { ok, issues: 'issues' in rest ? rest.issues : [] };
      }
      const pageContext = contextOf(name, contextValues, tell);
      const toolContext: ToolContext = { ...pageCall.context, ...pageContext, signal };
      try {
        const output = await tool.execute!(await validInput(tool, input), toolContext);
        return { output: outputOf(name, output) } satisfies ToolPageResult;
      } catch (error) {
        const { suspended, reason } = Object(error) as Partial<Suspended>;
        if (suspended === true) return { suspended, reason } satisfies ToolPageResult;
        throw error;
      }
    },
    anyVisibleTab.length > 0,
  );
}

const pageToolsOptions: OptionTable<PageToolsOptions> = {
  toolContext: optional(iterable),
  anyVisibleTab: optional(array),
};

/** Returns the parts of a tool's context that the page has. */
function contextOf(
  name: string,
  contextValues: ReadonlyMap<unknown, unknown>,
  tell: (progress: PageToolProgress) => void,
): Pick<ToolContext, 'emit' | 'forward' | 'get' | 'interrupt' | 'suspend'> {
  return {
    emit(progress) {
      tell({ emitted: jsonForm(progress, `The progress of "${name}"`) ?? null });
    },
    forward: (forwarded) => tell({ forwarded }),
    get<T>(token: ContextToken<T>): T {
      if (!contextValues.has(token))
        throw new AgentError(
          'CONFIGURATION',
          `Nothing is provided on the page for "${token.name}".`,
        );
      return contextValues.get(token) as T;
    },
    interrupt(request) {
      tell({ interrupt: request });
      return true;
    },
    suspend(reason) {
      throw { suspended: true, reason };
    },
  };
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
 * Validates the input and returns the schema's output. The page does this, because the worker could
 * not send an output that cannot be cloned.
 */
async function validInput({ name, input: schema }: Tool, input: unknown): Promise<unknown> {
  const validation = await schema.validate(input);
  if (validation.ok) return validation.value;
  throw new AgentError(
    'INVALID_INPUT',
    `The arguments of "${name}" do not fit its schema: ${validation.issues.join('; ')}`,
  );
}

/**
 * Returns the output in its JSON form, because cloning would remove the class of an instance. If
 * the tool returned an error, throws it.
 */
function outputOf(name: string, output: unknown): unknown {
  if (output instanceof Error)
    throw new AgentError('INVALID_INPUT', errorText(output), { cause: output });
  return jsonForm(output, `The result of the page tool "${name}"`);
}
