import { AgentError, checkOptions, invalidInput } from '../../error/agent-error.ts';
import type { Awaitable } from '../../event/hook.ts';
import { omitUndefined, type JsonValue } from '../../message/json.ts';
import { textOf, type Msg } from '../../message/msg.ts';
import { abortable } from '../../wait/abort.ts';
import type { ModelRequest, RunInfo } from '../../model/chat-model.ts';
import { describeTools } from '../../tool/describe-tools.ts';
import { contextToken, type ContextToken } from '../../tool/context-token.ts';
import type { Middleware, RunContext } from '../../agent/middleware.ts';
import { isNext } from '../../agent/next.ts';
import { perRun } from '../../agent/per-run.ts';

/**
 * Values by variable name. Strings are inserted as they are, and other values as JSON. `undefined`
 * means that the variable has no value.
 */
export type TemplateVariables = Readonly<Record<string, JsonValue | undefined>>;

/** How a template marks its variables, and what happens if one has no value. */
export interface TemplateOptions {
  /**
   * Syntax of a variable. `${name}` (default) is OxyGent's, and `{name}` is Spring AI Alibaba's.
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
  const fields = 'text:string variables:object form:${}|{}|? missing:keep|fail|?';
  checkOptions('renderTemplate()', { ...options, text, variables }, fields, 'INVALID_INPUT');
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
  throw invalidInput(`No value for ${names.join(', ')}.`, { details: { missing: names } });
}

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

/** Fields of `PromptVariablesOptions` for `checkOptions`. */
const promptFields =
  'variables:object|function|? token:object|? toolsVariable:string|? ' +
  'form:${}|{}|? missing:keep|fail|?';

/** Where the variables of a system prompt come from, and how it marks them. */
export interface PromptVariablesOptions extends TemplateOptions {
  /**
   * Variables of every agent call, or a function that returns them. The function runs once per
   * agent call. It can read the session's values with `stateKeys(…).of(call)`.
   */
  readonly variables?: TemplateVariables | ((call: PromptCall) => Awaitable<TemplateVariables>);
  /**
   * Token that finds further variables in the `toolContext` of the agent call or of the agent. They
   * have precedence over `variables`. Default `callVariables`.
   */
  readonly token?: ContextToken<TemplateVariables>;
  /**
   * Name of a variable that describes the tools of each request: name, description and JSON Schema,
   * with a blank line between two tools. Default: none (OxyGent: `tools_description`).
   */
  readonly toolsVariable?: string;
}

/**
 * Token for `toolContext` that sets the variables of one agent call (OxyGent: the arguments of a
 * call).
 */
export const callVariables: ContextToken<TemplateVariables> = contextToken('call variables');

/** The system prompt that was rendered for a run. */
interface RenderedPrompt {
  readonly template: string;
  readonly variables: TemplateVariables;
  prompt: string;
}

/**
 * Renders the agent's system prompt once per agent call. Each `${name}` is replaced with its value
 * (OxyGent: `_build_instruction`). With `form: '{}'`, each `{name}` is replaced (Spring AI
 * Alibaba). Inserted values, text that other middleware adds, and the input of the agent call are
 * not rendered.
 *
 * Use this middleware once per agent: a second one would render the values that the first inserted.
 * If rendering fails, the agent call ends with that error and stores nothing. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function promptVariables(options: PromptVariablesOptions): Middleware {
  checkOptions('promptVariables()', options, promptFields);
  const { render, renderAgain } = promptRenderer(options);
  const stateOf = perRun((): { rendered?: RenderedPrompt | undefined } => ({}));
  return {
    name: 'promptVariables',
    wrapSettle: (next) => async (input, context) => {
      try {
        stateOf(context).rendered = await render(context, input.messages);
      } catch (error) {
        if (!context.stopped) throw AgentError.from(error, 'INVALID_INPUT');
      }
      return next(input);
    },
    wrapRequest: (next) => async (draft, context) => {
      const request = await next(draft);
      const { rendered } = stateOf(context);
      if (!rendered || isNext(request)) return request;
      // Other middleware and hooks may have changed the tools.
      return renderAgain(rendered, request, context);
    },
  };
}

/** Makes the functions that render the system prompts of runs. */
function promptRenderer(options: PromptVariablesOptions) {
  const { variables = {}, token = callVariables, toolsVariable, form, missing } = options;

  const fill = (
    template: string,
    values: TemplateVariables,
    { tools, toolChoice }: Pick<ModelRequest, 'tools' | 'toolChoice'>,
  ): string => {
    const offered = toolChoice === 'none' ? [] : tools;
    const text = toolsVariable && { [toolsVariable]: describeTools(offered) };
    return renderTemplate(template, { ...values, ...text }, omitUndefined({ form, missing }));
  };
  /** Renders a run's system prompt. Returns what `renderAgain` needs if it describes the tools. */
  const render = async (
    context: RunContext,
    input: readonly Msg[],
  ): Promise<RenderedPrompt | undefined> => {
    const { basePrompt: template, toolContext, options: run, toolSchemas } = context;
    if (!template.trim() || context.stopped) return undefined;
    const pending = typeof variables === 'function' ? variables(callOf(context, input)) : variables;
    const values = await abortable(Promise.resolve(pending), context.stopSignal);
    const allValues = { ...values, ...(toolContext.get(token) as TemplateVariables | undefined) };
    const prompt = fill(template, allValues, { ...run.generate, tools: toolSchemas });
    context.setSystemPrompt(prompt);
    return toolsVariable && prompt.trim() ? { template, variables: allValues, prompt } : undefined;
  };
  /** Returns the request with a system prompt that describes its tools. */
  const renderAgain = (
    rendered: RenderedPrompt,
    request: ModelRequest,
    context: RunContext,
  ): ModelRequest => {
    const { systemPrompt } = context;
    const prompt = fill(rendered.template, rendered.variables, request);
    // Other middleware may have set its own system prompt.
    if (prompt === rendered.prompt || context.basePrompt !== rendered.prompt) return request;
    context.setSystemPrompt(prompt);
    rendered.prompt = prompt;
    const [first, ...messages] = request.messages;
    const [system] = context.requestMessages;
    if (!first || !system || textOf(first) !== systemPrompt) return request;
    return { ...request, messages: [system, ...messages] };
  };
  return { render, renderAgain };
}

function callOf(context: RunContext, input: readonly Msg[]): PromptCall {
  const { runId, sessionId, userId, agentPath } = context;
  const isUser = ({ role }: Msg): boolean => role === 'user';
  const questions = input.some(isUser) ? input : context.messages.filter(isUser).slice(-1);
  return { runId, sessionId, userId, agentPath, input: questions };
}
