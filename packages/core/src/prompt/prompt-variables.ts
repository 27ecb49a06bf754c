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

/** A call whose prompt is to be rendered. */
export interface PromptCall extends RunInfo {
  /**
   * What it is made with, as guards and `pre-call` hooks leave it; of one that goes on: what the
   * user said last.
   */
  readonly input: readonly Msg[];
}

export interface PromptVariablesOptions extends TemplateOptions {
  /**
   * For every call; a function is asked once a call, and gets the session's values by
   * `state.of(call)`.
   */
  readonly variables?: TemplateVariables | ((call: PromptCall) => Awaitable<TemplateVariables>);
  /**
   * Has what a call, or the agent, provides for it in `toolContext`; wins over `variables`. Optional
   * for a call.
   */
  readonly token?: ContextToken<TemplateVariables>;
}

/**
 * Renders the agent's system prompt, once a call, before anything is made of it: `${name}` becomes
 * its value (OxyGent: `_build_instruction`), or `{name}` with `form: '{}'` (Spring AI Alibaba).
 * What was put in, or behind it by other middleware, is not rendered; the input of a call never is.
 * Give an agent one of it: a second would look into what the first put in. A call for which
 * rendering fails ends with that error, and nothing of it is stored. Throws `CONFIGURATION` for an
 * option of the wrong kind.
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
    // What other middleware has put behind it, such as the tools of a text protocol, is no
    // template.
    const base = whole.startsWith(agentPrompt) ? agentPrompt : whole;
    const prompt = renderTemplate(base, { ...given, ...(own as TemplateVariables) }, options);
    const rest = whole.slice(base.length);
    context.setSystemPrompt(prompt.trim() ? prompt + rest : rest.trim());
  };

  return {
    name: 'promptVariables',
    on: {
      'pre-call': {
        // After all that may change the input, or keep it in the session's state.
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
