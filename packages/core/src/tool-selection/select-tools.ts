import type { Middleware } from '../loop/use/middleware.ts';
import { perRun } from '../loop/use/per-run.ts';
import type { RunContext } from '../loop/run/run-context.ts';
import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { abortable } from '../model/abortable.ts';
import type { RunInfo, ToolSchema } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';
import { reportFailure } from '../error/report-failure.ts';
import { ToolSelection } from './tool-selection.ts';

export interface SelectToolsOptions {
  /**
   * Which of the tools that are not local fit the question: `byWords`, `byKeyword`, `bySimilarity`,
   * `byModel` or a function. Default: all of them.
   */
  readonly by?: ToolSelector;
  /**
   * Tools in one request, the local ones among them; default 20 (Arc Reactor). A structured
   * answer's own tool is not counted.
   */
  readonly maxTools?: number;
  /**
   * The names of the tools that are not chosen among: they come first, always. Default: those that
   * are of no server (`mcpTools`).
   */
  readonly local?: readonly string[];
  /**
   * Told of a selector that failed; all tools go then, up to `maxTools`. Default: a warning on the
   * console.
   */
  readonly onError?: (error: AgentError) => void;
}

/** The names of the tools that fit a question, the best first. Names of no tool are passed over. */
export type ToolSelector = (
  question: string,
  tools: readonly ToolSchema[],
  context: {
    readonly signal: AbortSignal;
    /** The run it is chosen for; there when an agent asks. */
    readonly run?: RunInfo;
    /**
     * Told what a request to a model has cost: the call's usage counts it. There when an agent
     * asks.
     */
    readonly onUsage?: (usage: Usage) => void;
  },
) => readonly string[] | Promise<readonly string[]>;

/**
 * For an agent's `use` list: each request shows the model only the tools that fit the last
 * message of the user (Arc Reactor: `ToolSelector`). Local tools come first and are exempt; of all
 * together as many go as `maxTools` says. A call of a tool that was not shown is an error result.
 * Open calls of an earlier run still go through. Throws `CONFIGURATION` for an option of the wrong
 * kind.
 */
export function selectTools(options: SelectToolsOptions = {}): Middleware {
  checkFields(
    'CONFIGURATION',
    'selectTools()',
    options,
    'by:function|? maxTools:count|? local:array|? onError:function|?',
  );
  for (const name of options.local ?? [])
    checkFields('CONFIGURATION', 'selectTools(): each of local', { name }, 'name:string');
  if ((options.maxTools ?? 0) % 1)
    throw new AgentError(
      'CONFIGURATION',
      'selectTools(): maxTools must be a whole number or Infinity.',
    );
  const runs = perRun((context): Selecting => {
    const selection = new ToolSelection(context.tools);
    context.setTools(selection);
    return { context, selection };
  });
  return {
    name: 'selectTools',
    wrapRun: runs.wrapRun,
    on: {
      'pre-call': {
        // After those that change the input: what it is decides.
        priority: 10_000,
        // The first request is made to fit the model's window with the tools it will have.
        async handle({ runId, input }) {
          const selecting = runs.get(runId);
          if (!selecting) return;
          const { context, selection } = selecting;
          selection.open = context.openCalls.map(({ name }) => name);
          await select(selecting, options, lastOf(input) ?? askedIn(context.messages));
        },
      },
      'pre-reasoning': {
        // Before those that change the tools: theirs is the last word.
        priority: -10_000,
        async handle(event) {
          const selecting = runs.get(event.runId);
          if (!selecting || !event.tools.length) return;
          const { context } = selecting;
          const before = context.toolSchemas;
          await select(selecting, options, askedIn(context.messages));
          const tools = context.toolSchemas;
          if (tools !== before) return { ...event, tools };
        },
      },
    },
  };
}

interface Selecting {
  readonly context: RunContext;
  readonly selection: ToolSelection;
}

function lastOf(messages: readonly Msg[]): Msg | undefined {
  return messages.findLast(({ role }) => role === 'user');
}

/**
 * What a user said last: what the model is told in the user's place, as of a value that does not
 * fit, has no mark of a run, or that of a correction.
 */
function askedIn(view: readonly Msg[]): Msg | undefined {
  return (
    view.findLast(
      ({ role, metadata }) => role === 'user' && metadata?.['runId'] && !metadata['correction'],
    ) ?? lastOf(view)
  );
}

/**
 * Chooses anew where the question or the tools are others than before. An abort leaves it as it is:
 * no request follows.
 */
async function select(
  { context, selection }: Selecting,
  options: SelectToolsOptions,
  asked: Msg | undefined,
): Promise<void> {
  if (context.cut || !context.model.features.tools) return;
  const question = asked ? textOf(asked).trim() : '';
  const { all } = selection;
  const key = JSON.stringify([
    question,
    ...all.map(({ name, description }) => [name, description]),
  ]);
  if (selection.key === key) return;
  const { by, maxTools = 20 } = options;
  const isLocal = ({ name }: ToolSchema): boolean =>
    options.local?.includes(name) ?? !selection.serverOf(name);
  const local = all.filter(isLocal);
  const others = all.filter((schema) => !isLocal(schema));
  let chosen: readonly string[] = others.map(({ name }) => name);
  if (by && question && others.length) {
    const { signal } = context;
    const onUsage: RunContext['addUsage'] = (usage) => context.addUsage(usage);
    try {
      const choosing = by(question, others, { signal, run: context, onUsage });
      const given = await abortable(Promise.resolve(choosing), signal);
      checkFields('INVALID_INPUT', 'What a tool selector gives', { given }, 'given:array');
      for (const name of given)
        checkFields('INVALID_INPUT', 'What a tool selector gives', { name }, 'name:string');
      chosen = given.filter((name) => chosen.includes(name));
    } catch (error) {
      if (context.cut) return;
      reportFailure(
        'Tools could not be selected: all of them go.',
        options.onError,
        AgentError.from(error),
      );
    }
  }
  const { toolChoice } = context.generate;
  const wanted = typeof toolChoice === 'object' ? [toolChoice.name] : [];
  const names = [...new Set([...wanted, ...local.map(({ name }) => name), ...chosen])];
  selection.choose(key, [...local, ...others], names.slice(0, maxTools));
}
