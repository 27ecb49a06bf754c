import { AgentError, invalidInput } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { either, func, object, oneOf, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { Awaitable } from '../event/hook.ts';
import { omitUndefined, type JsonValue } from '../message/json.ts';
import { textOf, type Msg } from '../message/msg.ts';
import { abortable } from '../wait/abort.ts';
import type { ModelRequest, RunInfo } from '../model/chat-model.ts';
import { describeTools, isOfProgram } from '../tool/describe-tools.ts';
import { contextToken, type ContextToken } from '../tool/context-token.ts';
import type { Middleware, Run } from '../agent/middleware.ts';
import { isNext } from '../agent/next.ts';
import { perRun } from '../agent/per-run.ts';

/**
 * Values by variable name. Strings are inserted as they are, and other values as JSON. `undefined`
 * means that the variable has no value.
 */
export type TemplateVariables = Readonly<Record<string, JsonValue | undefined>>;

/** How a template marks its variables, and what happens if one has no value. */
export interface TemplateOptions {
  /**
   * Syntax of a variable: `${name}` or `{name}`. Default: `${}`. Sources: OxyGent; Spring AI
   * Alibaba.
   */
  readonly form?: '${}' | '{}';
  /**
   * What happens to a variable without a value. `keep` (default) leaves it as written. `fail`
   * throws `INVALID_INPUT`, with the names of all such variables in `details.missing`.
   */
  readonly missing?: 'keep' | 'fail';
}

/**
 * Replaces the variables of a text with their values, in one pass, so that inserted values are not
 * rendered. A name consists of letters of any script, digits and `_`. Other braces, such as those
 * of JSON, stay as they are. Throws `INVALID_INPUT` if `text` is not a string, if another argument
 * has the wrong kind, or with `missing: 'fail'`.
 */
export function renderTemplate(
  text: string,
  variables: TemplateVariables,
  options: TemplateOptions = {},
): string {
  checkOptions(
    'renderTemplate()',
    { ...options, text, variables },
    renderTemplateOptions,
    'INVALID_INPUT',
  );
  const { form = '${}', missing: whenMissing = 'keep' } = options;
  const missing = new Set<string>();
  const filledText = text.replace(form === '{}' ? inBraces : afterDollar, (match, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value !== undefined) return typeof value === 'string' ? value : JSON.stringify(value);
    missing.add(name);
    return match;
  });
  if (whenMissing === 'keep' || !missing.size) return filledText;
  const names = [...missing];
  throw invalidInput(`The prompt has variables without a value: ${names.join(', ')}.`, {
    details: { missing: names },
  });
}

interface RenderTemplateOptions extends TemplateOptions {
  readonly text: string;
  readonly variables: TemplateVariables;
}

const renderTemplateOptions: OptionTable<RenderTemplateOptions> = {
  text: string,
  variables: object,
  form: optional(oneOf('${}', '{}')),
  missing: optional(oneOf('keep', 'fail')),
};

const afterDollar = /\$\{([\p{L}\p{N}_]+)\}/gu;
const inBraces = /\{([\p{L}\p{N}_]+)\}/gu;

/** An agent call for which the system prompt is rendered. */
export interface PromptCall extends RunInfo {
  /**
   * Input of the agent call, after guards and `pre-call` hooks. For a resumed agent call: the
   * user's last message.
   */
  readonly input: readonly Msg[];
}

const promptVariablesOptions: OptionTable<PromptVariablesOptions> = {
  variables: optional(either(object, func)),
  token: optional(object),
  toolsVariable: optional(string),
  form: optional(oneOf('${}', '{}')),
  missing: optional(oneOf('keep', 'fail')),
};

/** Where the variables of a system prompt come from, and how it marks them. */
export interface PromptVariablesOptions extends TemplateOptions {
  /**
   * Variables of every agent call, or a function that returns them. The function runs once per
   * agent call. It can read the session's values with `stateKeys(…).of(call)`.
   */
  readonly variables?: TemplateVariables | ((call: PromptCall) => Awaitable<TemplateVariables>);
  /**
   * Token that finds further variables in the `toolContext` of the agent call or of the agent. They
   * have precedence over `variables`. Default: `callVariables`.
   */
  readonly token?: ContextToken<TemplateVariables>;
  /**
   * Name of a variable that describes the tools of each request: name, description and JSON Schema,
   * with a blank line between two tools. Default: none. Source: OxyGent, `tools_description`.
   */
  readonly toolsVariable?: string;
}

/**
 * Token for `toolContext` that sets the variables of one agent call. Source: OxyGent, the arguments
 * of a call.
 */
export const callVariables: ContextToken<TemplateVariables> = contextToken('call variables');

/** What a run has rendered so far. */
interface Rendering {
  input: readonly Msg[];
  /** Values of the variables, once a prompt has needed them. */
  values?: Promise<TemplateVariables>;
  /** Template of each rendered prompt. A rendered prompt is no template. */
  readonly templates: Map<string, string>;
}

/** The tools that a system prompt describes. */
type OfferedTools = Pick<ModelRequest, 'tools' | 'toolChoice'>;

/** A model request or its draft. */
type WithMessages = Pick<ModelRequest, 'messages'>;

/**
 * Renders the agent's system prompt once per agent call. Each `${name}` is replaced with its value.
 * With `form: '{}'`, each `{name}` is replaced. A prompt that `handOff()` or other middleware sets
 * in its place is rendered, too. Inserted values, text that other middleware adds, and the input of
 * the agent call are not rendered.
 *
 * Use this middleware once per agent: a second one would render the values that the first inserted.
 * If rendering fails, the agent call ends with that error. It then stores nothing, unless a later
 * prompt is the cause. Throws `CONFIGURATION` for an option of the wrong kind. Sources: OxyGent,
 * `_build_instruction`; Spring AI Alibaba.
 */
export function promptVariables(options: PromptVariablesOptions): Middleware {
  checkOptions('promptVariables()', options, promptVariablesOptions);
  const render = promptRenderer(options);
  const renderingOf = perRun((): Rendering => ({ input: [], templates: new Map() }));
  const isRendered = (run: Run): boolean => renderingOf(run).templates.has(run.prompt.base);
  const renderIn = async <T extends WithMessages>(
    request: T,
    tools: OfferedTools,
    run: Run,
  ): Promise<T> => {
    const { text: systemPrompt } = run.prompt;
    const isChanged = await render(renderingOf(run), tools, run);
    return isChanged ? withNewPrompt(request, systemPrompt, run) : request;
  };
  return {
    name: 'promptVariables',
    wrapSettle: async (input, next, run) => {
      const rendering = renderingOf(run);
      rendering.input = input.messages;
      const { options: runOptions } = run;
      const { schemas: toolSchemas } = run.tools;
      await render(rendering, { ...runOptions.generate, tools: toolSchemas }, run);
      return next(input);
    },
    wrapRequest: async (draft, next, run) => {
      let renderedDraft = draft;
      // A hand-off may have set another prompt.
      if (!isRendered(run)) {
        const { tools, options: generate } = draft;
        renderedDraft = await renderIn(draft, { ...generate, tools }, run);
      }
      const request = await next(renderedDraft);
      if (isNext(request) || !options.toolsVariable || !isRendered(run)) return request;
      // Other middleware and hooks may have changed the tools.
      return renderIn(request, request, run);
    },
  };
}

/**
 * Returns the function that renders the system prompt of a run. It returns whether the prompt is
 * another one than before.
 */
function promptRenderer(options: PromptVariablesOptions) {
  const { variables = {}, token = callVariables, toolsVariable, form, missing } = options;

  const fill = (
    template: string,
    values: TemplateVariables,
    { tools, toolChoice }: OfferedTools,
  ): string => {
    const offeredTools = toolChoice === 'none' ? [] : tools.filter(isOfProgram);
    const toolsValue = toolsVariable && { [toolsVariable]: describeTools(offeredTools) };
    return renderTemplate(template, { ...values, ...toolsValue }, omitUndefined({ form, missing }));
  };
  const readValues = async (run: Run, input: readonly Msg[]): Promise<TemplateVariables> => {
    const variablesOrPromise =
      typeof variables === 'function' ? variables(callOf(run, input)) : variables;
    const values = await abortable(Promise.resolve(variablesOrPromise), run.stopSignal);
    const callValues = run.tools.context.get(token) as TemplateVariables | undefined;
    return { ...values, ...callValues };
  };
  return async (rendering: Rendering, tools: OfferedTools, run: Run): Promise<boolean> => {
    const { base: basePrompt } = run.prompt;
    const { templates, input } = rendering;
    if (!basePrompt.trim() || run.ending.stopped) return false;
    const template = templates.get(basePrompt) ?? basePrompt;
    try {
      rendering.values ??= readValues(run, input);
      const prompt = fill(template, await rendering.values, tools);
      templates.set(prompt, template);
      run.prompt.set(prompt);
      return prompt !== basePrompt;
    } catch (error) {
      if (run.ending.stopped) return false;
      throw AgentError.from(error, 'INVALID_INPUT');
    }
  };
}

/** Returns a request with the system prompt of now, unless another wrapper has changed it. */
function withNewPrompt<T extends WithMessages>(request: T, oldPrompt: string, run: Run): T {
  const [first, ...messages] = request.messages;
  const [system] = run.prompt.messages;
  if (!first || system?.role !== 'system' || textOf(first) !== oldPrompt) return request;
  return { ...request, messages: [system, ...messages] };
}

function callOf(run: Run, input: readonly Msg[]): PromptCall {
  const { runId, sessionId, userId, agentPath } = run;
  const isUser = ({ role }: Msg): boolean => role === 'user';
  const questions = input.some(isUser) ? input : run.messages.filter(isUser).slice(-1);
  return { runId, sessionId, userId, agentPath, input: questions };
}
