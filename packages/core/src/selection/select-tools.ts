import { isQuestion } from '../message/conversation/turns.ts';
import { metadataOf } from '../message/metadata.ts';
import type { Middleware, Run } from '../agent/middleware.ts';
import { perRun } from '../agent/per-run.ts';
import { AgentError } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { either, func, infinity, optional, strings, whole } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { textOf, type Msg } from '../message/msg.ts';
import { abortable } from '../wait/abort.ts';
import type { RunInfo, ToolSchema, Usage } from '../model/chat-model.ts';
import { nameMatcher } from '../tool/name-pattern.ts';
import { reportFailure } from '../error/report-failure.ts';
import { toolOf, filteredTools, type ToolSet } from '../tool/set/tool-set.ts';

/** How `selectTools()` selects tools, and how many. */
export interface SelectToolsOptions {
  /**
   * Selector that chooses among the tools that are not in `alwaysOffer`, for example from
   * `byWords`, `byCategory`, `bySimilarity` or `byModel`. Default: all tools are chosen.
   */
  readonly by?: ToolSelector;
  /**
   * Maximum number of tools in one request, including those of `alwaysOffer`. Default: 20. The tool
   * of a structured answer is not counted. Source: Arc Reactor.
   */
  readonly maxTools?: number;
  /**
   * Names of tools that are always chosen, or patterns such as `mail_*`. These tools come first in
   * a request and are not passed to `by`. Default with `by`: the tools of middleware, `metaTool()`
   * and the search tool of `toolSearch()`. Default without `by`: all tools except those of MCP
   * servers (`mcpTools`).
   */
  readonly alwaysOffer?: readonly string[];
  /**
   * Function that gets the error of a selector. The request then has all tools, up to `maxTools`.
   * Default: a warning on the console.
   */
  readonly onError?: (error: AgentError) => void;
}

/**
 * Function that returns the names of the tools that fit a question, best first. Unknown names are
 * ignored.
 */
export type ToolSelector = (
  question: string,
  tools: readonly ToolSchema[],
  context: {
    readonly signal: AbortSignal;
    /** Run that needs the tools. Present if an agent calls the selector. */
    readonly run?: RunInfo;
    /**
     * Adds the usage of a model request to the usage of the agent call. Present if an agent calls
     * the selector.
     */
    readonly onUsage?: (usage: Usage) => void;
  },
) => readonly string[] | Promise<readonly string[]>;

/**
 * Creates middleware, for an agent's `use` list, that offers the model only the tools that fit the
 * user's last message. The tools of `alwaysOffer` come first and skip the selection. The others
 * follow in the order of the selector. `maxTools` limits all tools together. If the model calls a
 * hidden tool, it gets an error result. Tool calls that an earlier run left open still run. Throws
 * `CONFIGURATION` for an option of the wrong kind. Source: Arc Reactor, `ToolSelector`.
 */
export function selectTools(options: SelectToolsOptions = {}): Middleware {
  checkOptions('selectTools()', options, selectToolsOptions);
  const { alwaysOffer } = options;
  const isNamed = alwaysOffer && nameMatcher('selectTools(): alwaysOffer', alwaysOffer);
  const selectionOf = perRun(({ tools }): Selection => ({ set: tools.current }));
  const select = (run: Run, questionMessage: Msg | undefined): Promise<void> =>
    chooseTools(run, selectionOf(run), questionMessage, options, isNamed);
  return {
    name: 'selectTools',
    wrapRun: (input, next, run) => {
      run.tools.set(viewOf(selectionOf(run)));
      return next(input);
    },
    // Chooses before documents are retrieved. Open tool calls of an earlier run need all tools.
    wrapSettle: async (input, next, run) => {
      const questionMessage = lastUserMessage(input.messages) ?? questionIn(run.messages);
      if (!run.calls.open.length) await select(run, questionMessage);
      return next(input);
    },
    wrapRequest: async (draft, next, run) => {
      if (!draft.tools.length) return next(draft);
      await select(run, questionIn(run.messages));
      return run.ending.stopped
        ? run.ending.whenStopped()
        : next({ ...draft, tools: run.tools.schemas });
    },
  };
}

const selectToolsOptions: OptionTable<SelectToolsOptions> = {
  by: optional(func),
  maxTools: optional(either(whole, infinity)),
  alwaysOffer: optional(strings),
  onError: optional(func),
};

/** Returns the schemas with these names, each once, in the order of the names. */
export function schemasNamed(
  names: readonly string[],
  schemas: readonly ToolSchema[],
): readonly ToolSchema[] {
  return [...new Set(names)].flatMap((name) => schemas.find((one) => one.name === name) ?? []);
}

function lastUserMessage(messages: readonly Msg[]): Msg | undefined {
  return messages.findLast(({ role }) => role === 'user');
}

/**
 * Returns the user's last message. Skips messages that the agent itself wrote with the role `user`,
 * such as a request to correct an answer. Such a message has no `runId` in its metadata, or has a
 * `correction`.
 */
function questionIn(view: readonly Msg[]): Msg | undefined {
  const isAsked = (message: Msg): boolean =>
    isQuestion(message) && Boolean(metadataOf(message).runId);
  return view.findLast(isAsked) ?? lastUserMessage(view);
}

/**
 * Chooses again if the question or the tools have changed. Does nothing after an abort, because no
 * request follows. `isNamed`: whether a tool is in the option `alwaysOffer`, if that is set.
 */
async function chooseTools(
  run: Run,
  selection: Selection,
  questionMessage: Msg | undefined,
  { by, maxTools = 20, onError }: SelectToolsOptions,
  isNamed: ((name: string) => boolean) | undefined,
): Promise<void> {
  if (run.ending.stopped || !run.model.features.tools) return;
  const question = questionMessage ? textOf(questionMessage).trim() : '';
  const schemas = selection.set.schemas();
  const toolTexts = schemas.map(({ name, description }) => [name, description]);
  const key = JSON.stringify([question, ...toolTexts]);
  if (selection.key === key) return;
  const isAlways = ({ name }: ToolSchema): boolean => {
    if (isNamed) return isNamed(name);
    const { alwaysOffered = false, server } = toolOf(selection.set, name) ?? {};
    const isAdded = run.tools.added.some((added) => added.name === name);
    return !server && (!by || alwaysOffered || isAdded);
  };
  const always = schemas.filter(isAlways);
  const others = schemas.filter((schema) => !isAlways(schema));
  let chosenNames: readonly string[] = others.map(({ name }) => name);
  if (by && question && others.length) {
    const { stopSignal: signal } = run;
    const onUsage = run.model.addUsage;
    try {
      const choosing = by(question, others, { signal, run, onUsage });
      const names = await abortable(Promise.resolve(choosing), signal);
      chosenNames = names.filter((name) => chosenNames.includes(name));
    } catch (error) {
      if (run.ending.stopped) return;
      const message = 'Tools could not be selected, so the request has all of them.';
      reportFailure(message, onError, AgentError.from(error));
    }
  }
  const { toolChoice } = run.options.generate;
  const requiredNames = typeof toolChoice === 'object' ? [toolChoice.name] : [];
  const ranking = new Set([...requiredNames, ...always.map(({ name }) => name), ...chosenNames]);
  const names = [...ranking].slice(0, maxTools);
  selection.key = key;
  const inOrder = new Set([...always.map(({ name }) => name), ...chosenNames, ...requiredNames]);
  selection.chosen = [...inOrder].filter((name) => names.includes(name));
}

/** The tools of a run, and the chosen ones. Before the first choice, the model gets all tools. */
interface Selection {
  readonly set: ToolSet;
  /** Names of the chosen tools, in the order of the request. */
  chosen?: readonly string[];
  /** Text that identifies the question and the tools of the last choice. */
  key?: string;
}

/** Returns the tools of the run, without those that are not chosen at the time. */
function viewOf(selection: Selection): ToolSet {
  return filteredTools(selection.set, {
    offeredTools: (schemas) =>
      selection.chosen ? schemasNamed(selection.chosen, schemas) : schemas,
    refusal: ({ name }) => {
      if (selection.chosen?.includes(name) !== false) return undefined;
      return `Tool not available: ${name}. It is not among the tools of this request.`;
    },
  });
}
