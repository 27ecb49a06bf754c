import { shortenText } from '../message/text.ts';
import { misconfigured, fieldOf } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import {
  boolean,
  either,
  func,
  infinity,
  optional,
  share,
  string,
  strings,
  whole,
} from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { parseJson } from '../message/json.ts';
import { outputText, toolResultsOf, type Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import { objectInput, textIn } from '../schema/schema.ts';
import { similaritySearch, type Embed } from './by-similarity.ts';
import { schemasNamed, type ToolSelector } from './select-tools.ts';
import { tool, type Tool } from '../tool/tool.ts';
import { nameMatcher } from '../tool/name-pattern.ts';
import type { EarlyRun, Middleware, RunView } from '../agent/middleware.ts';
import { perRun } from '../agent/per-run.ts';
import { wordSearch } from './by-words.ts';
import { toolOf, filteredTools, toolsBefore, type ToolSet } from '../tool/set/tool-set.ts';

/** Which tools `toolSearch()` always offers, and how the model finds the others. */
export interface ToolSearchOptions {
  /**
   * Names of tools that the model gets from the start, without a search, or patterns such as
   * `mail_*`.
   */
  readonly alwaysOffer?: readonly string[];
  /**
   * Whether the model also gets agents as tools (`agentTool`) from the start. Default: true.
   * Source: OxyGent.
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
  /** Minimum cosine similarity of a found tool with `embed`, from 0 to 1. Default: 0.3. */
  readonly threshold?: number;
  /** Custom search that replaces the search by words or by meaning. */
  readonly search?: ToolSelector;
  /**
   * Whether to require a search even for `limit` tools or fewer. If false, so few tools are all
   * offered without a search. Default: true. Source: OxyGent.
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
 * the tool `retrieve_tools`.
 *
 * The model can call found tools from its next request on. The tools stay available in later agent
 * calls of the session and after a resume, because the stored log has the search results. Tools of
 * middleware and the tool of a structured answer are offered from the start. If the model calls a
 * tool that was not found, it gets an error result that says to search. A failed search returns an
 * error result too. Tool calls that an earlier run left open still run, even if their tools were
 * not found. A search finds only tools that the agent call's `allowTools` permits.
 *
 * Throws `CONFIGURATION` for an option of the wrong kind. An agent call fails with `CONFIGURATION`
 * if the agent already has a tool named `retrieve_tools`. Source: OxyGent, sourcing.
 */
export function toolSearch(options: ToolSearchOptions = {}): Middleware {
  checkOptions('toolSearch()', options, toolSearchOptions);
  const { limit = 5, maxTools = 20, evenWhenFew = true, prompt = defaultPrompt } = options;
  const { embed, threshold = 0.3, childAgents = true, alwaysOffer } = options;
  const { search = embed ? similaritySearch(embed, threshold) : wordSearch() } = options;
  const isIncluded = nameMatcher('toolSearch(): alwaysOffer', alwaysOffer);
  const sourcedIn = perRun((run): SourcedTools | undefined => {
    if (!run.model.features.tools) return undefined;
    const sourcedTools = new SourcedTools(run, isIncluded, childAgents);
    return evenWhenFew || sourcedTools.hiddenTools().length > limit ? sourcedTools : undefined;
  });
  const searchIn = (run: EarlyRun, sourcedTools: SourcedTools): Tool =>
    searchTool(async (query, signal) => {
      const onUsage = run.model.addUsage;
      const hiddenTools = sourcedTools.hiddenTools();
      const names = await search(query, hiddenTools, { signal, run, onUsage });
      const foundTools = schemasNamed(names, hiddenTools).slice(0, limit);
      const foundNames = foundTools.map(({ name }) => name);
      sourcedTools.add(foundNames, maxTools);
      return foundTools;
    });
  return {
    name: 'toolSearch',
    wrapRun: (input, next, run) => {
      const sourcedTools = sourcedIn(run);
      if (run.tools.current.find(searchName)) {
        run.ending.fail(
          misconfigured(
            `The agent has a tool named "${searchName}" already. Rename it: toolSearch() adds a tool of this name.`,
          ),
        );
      } else if (sourcedTools) {
        run.tools.set(toolsBefore(sourcedTools.view(), [searchIn(run, sourcedTools)]));
        run.prompt.append(prompt);
      }
      return next(input);
    },
    wrapSettle: (input, next, run) => {
      const sourcedTools = sourcedIn(run);
      if (sourcedTools) {
        sourcedTools.add(run.messages.flatMap(foundIn), maxTools);
        sourcedTools.open = run.calls.open.map(({ toolUse }) => toolUse.name);
      }
      return next(input);
    },
  };
}

const toolSearchOptions: OptionTable<ToolSearchOptions> = {
  alwaysOffer: optional(strings),
  childAgents: optional(boolean),
  evenWhenFew: optional(boolean),
  limit: optional(either(whole, infinity)),
  maxTools: optional(either(whole, infinity)),
  embed: optional(func),
  search: optional(func),
  threshold: optional(share),
  prompt: optional(string),
};

const searchName = 'retrieve_tools';

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
    const tools = fieldOf(value, 'tools');
    if (!Array.isArray(tools)) return [];
    const names = tools.map((found: unknown) => fieldOf(found, 'name'));
    return names.filter((found) => typeof found === 'string');
  });
}

const defaultPrompt = [
  `You have more tools than you see. Before you say that you can't do something, search with ${searchName}:`,
  'say in a few words what the tool should do. You can call the tools that it finds from your next step on.',
  'If it finds nothing, try other words once or twice, then continue without.',
].join(' ');

/** Tools of a run that are hidden until a search finds them. Fixed tools are never hidden. */
class SourcedTools {
  /** Names of further tools that can be called, because an earlier run left calls to them open. */
  open: readonly string[] = [];
  readonly #set: ToolSet;
  readonly #isFixed: (schema: ToolSchema) => boolean;
  /**
   * For each found tool, by name: the number of the search hit that found it last. Tools stay in
   * the order of their first hit, so that consecutive requests begin with the same text.
   */
  readonly #found = new Map<string, number>();
  #hitCount = 0;

  constructor(
    { options, tools }: RunView,
    isIncluded: (name: string) => boolean,
    childAgents: boolean,
  ) {
    const { toolChoice } = options.generate;
    const set = tools.current;
    const fixedNames = new Set(tools.added.map(({ name }) => name));
    if (typeof toolChoice === 'object') fixedNames.add(toolChoice.name);
    const isAgent = (name: string): boolean => toolOf(set, name)?.takesDecisions === true;
    this.#set = set;
    this.#isFixed = ({ name }) =>
      fixedNames.has(name) || isIncluded(name) || (childAgents && isAgent(name));
  }

  /** Returns the tools that a search can find: all except the fixed tools. */
  hiddenTools(): readonly ToolSchema[] {
    return this.#set.schemas().filter((schema) => !this.#isFixed(schema));
  }

  /**
   * Offers found tools from the next request on. If there are more than `maxTools`, drops the tools
   * that were found longest ago.
   */
  add(names: readonly string[], maxTools: number): void {
    for (const name of names) this.#found.set(name, (this.#hitCount += 1));
    const newest = [...this.#found].toSorted((a, b) => b[1] - a[1]);
    for (const [name] of newest.slice(maxTools)) this.#found.delete(name);
  }

  /** Returns a view that offers the fixed tools and the found ones. */
  view(): ToolSet {
    return filteredTools(this.#set, {
      offeredTools: (schemas) => {
        const hidden = schemas.filter((schema) => !this.#isFixed(schema));
        return [...schemas.filter(this.#isFixed), ...schemasNamed([...this.#found.keys()], hidden)];
      },
      refusal: ({ name, schema }) => {
        const isKnown = this.#found.has(name) || this.open.includes(name);
        if (isKnown || this.#isFixed(schema)) return undefined;
        const refused = `Tool not available: ${name}. Search for it with ${searchName} first.`;
        return `${refused} You can call the tools that it finds from your next step on.`;
      },
    });
  }
}
