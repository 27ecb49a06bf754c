import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { Awaitable } from '../event/hook.ts';
import type { Msg } from '../message/msg.ts';
import { renderTemplate, type TemplateOptions, type TemplateVariables } from './render-template.ts';
import { abortable } from '../model/abortable.ts';
import type { RunInfo } from '../model/chat-model.ts';
import type { ContextToken } from '../tool/context-token.ts';
import type { Middleware } from '../loop/use/middleware.ts';
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
   * call. They override `variables`.
   */
  readonly token?: ContextToken<TemplateVariables>;
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
  checkFields(
    'CONFIGURATION',
    where,
    options,
    'variables:object|function|? token:object|? form:${}|{}|? missing:keep|fail|?',
  );
  const render = async (context: RunContext, input: readonly Msg[]): Promise<void> => {
    const { systemPrompt: whole, agentPrompt, toolContext } = context;
    if (!whole || context.cut) return;
    const { variables = {}, token } = options;
    const own = token && toolContext.get(token);
    const { runId, sessionId, userId, agentPath } = context;
    const isAsked = input.some(isUser);
    const asked = isAsked ? input : context.messages.filter(isUser).slice(-1);
    const call = { runId, sessionId, userId, agentPath, input: asked };
    const given =
      typeof variables === 'function'
        ? await abortable(Promise.resolve(variables(call)), context.signal)
        : variables;
    checkFields('INVALID_INPUT', where, { given, own }, 'given:object own:object|?');
    // Text that other middleware added after it, such as the tools of a text protocol, is not a
    // template.
    const base = whole.startsWith(agentPrompt) ? agentPrompt : whole;
    const prompt = renderTemplate(base, { ...given, ...(own as TemplateVariables) }, options);
    const rest = whole.slice(base.length);
    context.setSystemPrompt(prompt.trim() ? prompt + rest : rest.trim());
  };

  return {
    name: 'promptVariables',
    onError: 'fail',
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
    },
  };
}

function isUser({ role }: Msg): boolean {
  return role === 'user';
}
