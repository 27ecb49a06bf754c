import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { Awaitable } from '../event/hook.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { renderTemplate, type TemplateOptions, type TemplateVariables } from './render-template.ts';
import { abortable } from '../model/abortable.ts';
import type { GenerateOptions, RunInfo, ToolSchema } from '../model/chat-model.ts';
import { describeTools } from '../text-protocol/tools-prompt.ts';
import { contextToken, type ContextToken } from '../tool/context-token.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import { perRun } from '../loop/use/per-run.ts';
import type { RunContext } from '../loop/run/run-context.ts';

/** A call whose prompt needs rendering. */
export interface PromptCall extends RunInfo {
  /**
   * The call's input, after guards and `pre-call` hooks. For a resumed call: the user's last
   * message.
   */
  readonly input: readonly Msg[];
}

export interface PromptVariablesOptions extends TemplateOptions {
  /**
   * Variables of every call. A function runs once per call; it reads the session's values with
   * `state.of(call)`.
   */
  readonly variables?: TemplateVariables | ((call: PromptCall) => Awaitable<TemplateVariables>);
  /**
   * The token of variables that the call, or the agent, provides in `toolContext`; optional for a
   * call. They override `variables`. Default `callVariables`.
   */
  readonly token?: ContextToken<TemplateVariables>;
  /**
   * Name of a variable that describes the tools: name, description and JSON Schema of each, with
   * blank lines between. It follows the tools of each request. Default: none (OxyGent:
   * `tools_description`).
   */
  readonly toolsVariable?: string;
}

/** The token of one call's variables, for `toolContext` (OxyGent: the arguments of a call). */
export const callVariables: ContextToken<TemplateVariables> = contextToken('call variables');

/** A system prompt that was rendered for a run. */
interface Rendered {
  readonly template: string;
  readonly variables: TemplateVariables;
  prompt: string;
}

/**
 * Renders the agent's system prompt once per call, before it is used. `${name}` becomes its value
 * (OxyGent: `_build_instruction`), or `{name}` with `form: '{}'` (Spring AI Alibaba). Inserted
 * values, text that other middleware appends, and a call's input are not rendered.
 *
 * Use it once per agent: a second one would render the values that the first inserted. If rendering
 * fails, the call ends with that error and stores nothing. Throws `CONFIGURATION` for an option of
 * the wrong kind.
 */
export function promptVariables(options: PromptVariablesOptions): Middleware {
  const where = 'promptVariables()';
  const fields =
    'variables:object|function|? token:object|? toolsVariable:string|? form:${}|{}|? missing:keep|fail|?';
  checkFields('CONFIGURATION', where, options, fields);
  const { token = callVariables, toolsVariable, form, missing } = options;
  const described = new WeakMap<ToolSchema, string>();
  const runs = perRun((): { rendered?: Rendered } => ({}));

  const renderWith = (
    { template, variables }: Omit<Rendered, 'prompt'>,
    { generate: { toolChoice }, tools }: ToolOffer,
  ): string => {
    const offered = toolChoice === 'none' ? [] : tools;
    const text = toolsVariable && { [toolsVariable]: describeTools(offered, described) };
    return renderTemplate(
      template,
      { ...variables, ...text },
      { ...(form && { form }), ...(missing && { missing }) },
    );
  };

  const render = async (context: RunContext, input: readonly Msg[]): Promise<void> => {
    const { systemPrompt: whole, agentPrompt, toolContext } = context;
    if (!whole || context.cut) return;
    const own = toolContext.get(token);
    const given = await variablesOf(options.variables, callOf(context, input), context.signal);
    checkFields('INVALID_INPUT', where, { given, own }, 'given:object own:object|?');
    // Text that other middleware added after it, such as the tools of a text protocol, is not a
    // template.
    const template = whole.startsWith(agentPrompt) ? agentPrompt : whole;
    const variables = { ...given, ...(own as TemplateVariables) };
    const { generate, toolSchemas: tools } = context;
    const prompt = renderWith({ template, variables }, { generate, tools });
    const rest = whole.slice(template.length);
    context.setSystemPrompt(prompt.trim() ? prompt + rest : rest.trim());
    const run = runs.get(context.runId);
    if (run && toolsVariable && prompt.trim()) run.rendered = { template, variables, prompt };
  };

  return {
    name: 'promptVariables',
    onError: 'fail',
    wrapRun: runs.wrapRun,
    on: {
      'pre-call': {
        // After all hooks that may change the input or store it in the session's state.
        priority: Number.MAX_SAFE_INTEGER,
        async handle({ input }, _control, context) {
          try {
            await render(context, input);
          } catch (error) {
            if (!context.cut) throw AgentError.from(error, 'INVALID_INPUT');
          }
        },
      },
      'pre-reasoning': {
        // After all hooks that may change the tools.
        priority: Number.MAX_SAFE_INTEGER,
        handle(event, _control, context) {
          const rendered = runs.get(event.runId)?.rendered;
          if (!rendered) return;
          const { options: generate, tools, messages } = event;
          const before = context.systemPrompt;
          const prompt = renderWith(rendered, { generate, tools });
          // Another hook may have set a prompt of its own.
          if (prompt === rendered.prompt || !before.startsWith(rendered.prompt)) return;
          context.setSystemPrompt(prompt + before.slice(rendered.prompt.length));
          rendered.prompt = prompt;
          const [first, ...rest] = messages;
          const [system] = context.request;
          if (!first || !system || textOf(first) !== before) return;
          return { ...event, messages: [system, ...rest] };
        },
      },
    },
  };
}

interface ToolOffer {
  readonly generate: GenerateOptions;
  readonly tools: readonly ToolSchema[];
}

/** Returns the variables of a call. Rejects with the reason of an abort. */
function variablesOf(
  variables: PromptVariablesOptions['variables'] = {},
  call: PromptCall,
  signal: AbortSignal,
): Awaitable<TemplateVariables> {
  if (typeof variables !== 'function') return variables;
  return abortable(Promise.resolve(variables(call)), signal);
}

function callOf(context: RunContext, input: readonly Msg[]): PromptCall {
  const { runId, sessionId, userId, agentPath } = context;
  const asked = input.some(isUser) ? input : context.messages.filter(isUser).slice(-1);
  return { runId, sessionId, userId, agentPath, input: asked };
}

function isUser({ role }: Msg): boolean {
  return role === 'user';
}
