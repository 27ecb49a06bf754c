import { shortenText } from '../../message/text.ts';
import { misconfigured, checkFields, checkOptions } from '../../error/agent-error.ts';
import { isRecord, parseJson } from '../../message/json.ts';
import { outputText, toolResultsOf, type Msg } from '../../message/msg.ts';
import type { ToolSchema } from '../../model/chat-model.ts';
import { objectInput, textIn } from '../../schema/schema.ts';
import { type Embed, checkThreshold, similarTools } from './by-similarity.ts';
import type { ToolSelector } from './select-tools.ts';
import { tool, type Tool } from '../../tool/tool.ts';
import { type RunContext, addToSystemPrompt } from '../../agent/run-context.ts';
import { nameMatcher } from '../../tool/name-pattern.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { perRun } from '../../agent/per-run.ts';
import { toolSearch } from './by-words.ts';
import { ToolList, toolOf, viewOf, type ToolSet } from '../../tool/set/tool-set.ts';

/** Which tools `toolSourcing()` always offers, and how the model finds the others. */
export interface ToolSourcingOptions {
  /**
   * Names of tools that the model gets from the start, without a search, or patterns such as
   * `mail_*`.
   */
  readonly alwaysInclude?: readonly string[];
  /**
   * Whether the model also gets agents as tools (`agentTool`) from the start (OxyGent). Default:
   * true.
   */
  readonly childAgents?: boolean;
  /** Maximum number of tools that one search finds. Default: 5. */
  readonly limit?: number;
  /**
   * Maximum number of found tools to offer at the same time. If there are more, the tools found
   * longest ago are dropped. Default: 20.
   */
  readonly maxTools?: number;
  /**
   * Function that embeds texts, for a search by meaning. Default: a search for words in names,
   * descriptions and parameters, in any language.
   */
  readonly embed?: Embed;
  /** Minimum cosine similarity of a found tool with `embed`, from -1 to 1. Default: 0.3. */
  readonly threshold?: number;
  /** Custom search that replaces the search by words or by meaning. */
  readonly search?: ToolSelector;
  /**
   * Whether to require a search even for `limit` tools or fewer (OxyGent). If false, so few tools
   * are all offered without a search. Default: true.
   */
  readonly evenWhenFew?: boolean;
  /**
   * Text to add after the system prompt. An empty string adds nothing. Default: a text that tells
   * the model to search for tools.
   */
  readonly prompt?: string;
}

/**
 * Creates middleware, for an agent's `use` list, that hides tools until the model finds them with
 * the tool `retrieve_tools` (OxyGent: sourcing).
 *
 * The model can call found tools from its next request on. The tools stay available in later agent
 * calls of the session and after a resume, because the stored log has the search results. Tools of
 * middleware and the tool of a structured answer are offered from the start. If the model calls a
 * tool that was not found, it gets an error result that says to search. A failed search returns an
 * error result too. Tool calls that an earlier run left open still run, even if their tools were
 * not found. A search finds only tools that the agent call's `allowTools` permits.
 *
 * Throws `CONFIGURATION` for an option of the wrong kind. An agent call fails with `CONFIGURATION`
 * if the agent already has a tool named `retrieve_tools`.
 */
export function toolSourcing(options: ToolSourcingOptions = {}): Middleware {
  checkOptions('toolSourcing()', options, optionFields);
  const { limit = 5, maxTools = 20, evenWhenFew = true, prompt = usualPrompt } = options;
  const search = searchOf(options);
  const isIncluded = nameMatcher('toolSourcing(): alwaysInclude', options.alwaysInclude);
  const sourcedIn = perRun((context): SourcedTools | undefined => {
    const sourced: SourcedTools = sourcedTools(context.tools, {
      search: searchTool(async (query, signal) => {
        const onUsage: RunContext['addUsage'] = (usage) => context.addUsage(usage);
        const hidden = sourced.hidden();
        const names = await search(query, hidden, { signal, run: context, onUsage });
        const found = schemasOf(names, hidden).slice(0, limit);
        sourced.add(found.map(({ name }) => name));
        return found;
      }),
      isFixed: fixedIn(context, { isIncluded, ...options }),
      maxTools,
    });
    if (!context.model.features.tools) return undefined;
    if (!evenWhenFew && sourced.hidden().length <= limit) return undefined;
    context.setTools(sourced.tools);
    addToSystemPrompt(context, prompt);
    return sourced;
  });
  return {
    name: 'toolSourcing',
    wrapRun: (next) => (input, context) => {
      if (context.tools.find(searchName)) {
        const message = `The agent has a tool named "${searchName}" already.`;
        context.fail(misconfigured(message));
      } else sourcedIn(context);
      return next(input);
    },
    wrapSettle: (next) => (input, context) => {
      const sourced = sourcedIn(context);
      if (sourced) {
        sourced.add(context.messages.flatMap(foundIn));
        sourced.open = context.openCalls.map(({ toolUse }) => toolUse.name);
      }
      return next(input);
    },
  };
}

const optionFields =
  'alwaysInclude:names|? childAgents,evenWhenFew:boolean|? limit,maxTools:whole|Infinity|? ' +
  'embed,search:function|? threshold:number|? prompt:string|?';

const searchName = 'retrieve_tools';

function searchOf({ search, embed, threshold = 0.3 }: ToolSourcingOptions): ToolSelector {
  checkThreshold('toolSourcing()', threshold);
  return search ?? (embed ? similarTools(embed, threshold) : toolSearch());
}

/** Returns the tools that a search found, each once. Throws `INVALID_INPUT` for other values. */
function schemasOf(names: unknown, tools: readonly ToolSchema[]): readonly ToolSchema[] {
  const where = 'The result of a search for tools';
  checkFields(where, { names }, 'names:names', 'INVALID_INPUT');
  const wanted = [...new Set(names as readonly string[])];
  return wanted.flatMap((name) => tools.find((schema) => schema.name === name) ?? []);
}

interface Fixing extends Pick<ToolSourcingOptions, 'childAgents'> {
  readonly isIncluded: (name: string) => boolean;
}

function fixedIn(
  { generate, tools, addedTools }: RunContext,
  { isIncluded, childAgents = true }: Fixing,
): (schema: ToolSchema) => boolean {
  const { toolChoice } = generate;
  const fixed = new Set<string>();
  for (const { name } of addedTools) fixed.add(name);
  if (typeof toolChoice === 'object') fixed.add(toolChoice.name);
  const isAgent = (name: string): boolean => toolOf(tools, name)?.takesDecisions === true;
  return ({ name }) => fixed.has(name) || isIncluded(name) || (childAgents && isAgent(name));
}

function searchTool(
  find: (query: string, signal: AbortSignal) => Promise<readonly ToolSchema[]>,
): Tool {
  const search = tool({
    name: searchName,
    description: 'Finds tools by what they do. You can call them from your next step on.',
    input: objectInput({
      query: { type: 'string', description: 'What the tool should do, in a few words.' },
    }),
    replay: 'safe',
    async execute(input, { signal }) {
      const found = await find(textIn(input, 'query'), signal);
      const tools = found.map(({ name, description }) => ({
        name,
        description: shortenText(description, 500),
      }));
      const hint = 'Nothing fits. Try other words, or continue without.';
      return { tools, ...(!tools.length && { hint }) };
    },
  });
  return { ...search, alwaysOffered: true };
}

/** Returns the names of the tools that a search found, if the message has a search result. */
function foundIn(message: Msg): readonly string[] {
  return toolResultsOf(message).flatMap(({ name, state, output }) => {
    const isFound = name === searchName && state === 'success';
    const value = isFound ? parseJson(outputText(output)) : undefined;
    const tools: unknown = isRecord(value) ? value['tools'] : undefined;
    if (!Array.isArray(tools)) return [];
    const names = tools.map((found: unknown) => (isRecord(found) ? found['name'] : undefined));
    return names.filter((found) => typeof found === 'string');
  });
}

const usualPrompt = [
  `You have more tools than you see. Before you say that you can't do something, search with ${searchName}:`,
  'say in a few words what the tool should do. You can call the tools that it finds from your next step on.',
  'If it finds nothing, try other words once or twice, then continue without.',
].join(' ');

interface SourcedToolsOptions {
  /** Tool that finds the other tools. */
  readonly search: Tool;
  /** Whether a tool is offered without a search. */
  readonly isFixed: (schema: ToolSchema) => boolean;
  /** Maximum number of found tools to offer at the same time. */
  readonly maxTools: number;
}

/** Tools of a run that are hidden until a search finds them. Fixed tools are never hidden. */
interface SourcedTools {
  /** The search, and a view that offers the fixed tools and the found ones. */
  readonly tools: ToolSet;
  /** Names of further tools that can be called, because an earlier run left calls to them open. */
  open: readonly string[];
  /** Returns the tools that a search can find: all except the fixed tools. */
  hidden(): readonly ToolSchema[];
  /**
   * Offers found tools from the next request on. If there are more than `maxTools`, drops the tools
   * that were found longest ago.
   */
  add(names: readonly string[]): void;
}

/** Throws `CONFIGURATION` if the set has a tool with the name of the search. */
function sourcedTools(
  set: ToolSet,
  { search, isFixed, maxTools }: SourcedToolsOptions,
): SourcedTools {
  /**
   * For each found tool, by name: the number of the search hit that found it last. Tools stay in
   * the order of their first hit, so that consecutive requests begin with the same text.
   */
  const found = new Map<string, number>();
  let hits = 0;
  const view = viewOf(set, {
    offered(all) {
      const known = [...found.keys()].flatMap(
        (name) => all.find((schema) => schema.name === name && !isFixed(schema)) ?? [],
      );
      return [...all.filter(isFixed), ...known];
    },
    refusal({ name, schema }) {
      if (found.has(name) || sourced.open.includes(name) || isFixed(schema)) return undefined;
      const refused = `Tool not available: ${name}. Search for it with ${search.name} first.`;
      return `${refused} You can call the tools that it finds from your next step on.`;
    },
  });
  const sourced: SourcedTools = {
    tools: new ToolList([search], view),
    open: [],
    hidden: () => set.schemas().filter((schema) => !isFixed(schema)),
    add(names) {
      for (const name of names) found.set(name, (hits += 1));
      const newest = [...found].toSorted((a, b) => b[1] - a[1]);
      for (const [name] of newest.slice(maxTools)) found.delete(name);
    },
  };
  return sourced;
}
