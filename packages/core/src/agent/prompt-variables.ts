import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { Awaitable } from '../hook/hook.ts';
import { createMessage } from '../message/create-message.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { renderTemplate, type TemplateOptions, type TemplateVariables } from '../message/render-template.ts';
import { abortable } from '../model/abortable.ts';
import type { ContextToken } from '../tool/context-token.ts';
import type { Extension } from './extension.ts';
import type { Run } from './run.ts';

export interface PromptVariablesOptions extends TemplateOptions {
  /** For every call; a function is asked once a call. */
  readonly variables?: TemplateVariables | (() => Awaitable<TemplateVariables>);
  /** Has what a call, or the agent, provides for it in `context`; wins over `variables`. Optional for a call. */
  readonly token?: ContextToken<TemplateVariables>;
}

/**
 * Renders the agent's system prompt, once a call, before anything is made of it: `${name}` becomes its value (OxyGent: `_build_instruction`), or
 * `{name}` with `form: '{}'` (Spring AI Alibaba). What was put in is not rendered again; the input of a call never is. A call for which
 * rendering fails ends with that error, and nothing of it is stored. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function promptVariables(options: PromptVariablesOptions): Extension {
  const where = 'promptVariables()';
  checkFields('CONFIGURATION', where, options, 'variables:object|function|? token:object|? form:${}|{}|? missing:keep|fail|?');
  const rendered = new WeakMap<Msg, Msg>();

  const render = async (run: Run): Promise<void> => {
    const { systemMessage, now } = run.setup;
    if (!systemMessage || run.cut) return;
    const { variables = {}, token } = options;
    const own = token && run.context.get(token);
    const given = typeof variables === 'function' ? await abortable(Promise.resolve(variables()), run.modelSignal()) : variables;
    checkFields('INVALID_INPUT', where, { given, own }, 'given:object own:object|?');
    const text = renderTemplate(textOf(systemMessage), { ...given, ...(own as TemplateVariables) }, options);
    // The same object while the text is the same: counts and the wire form are cached on it.
    let message = rendered.get(systemMessage);
    if (!message || textOf(message) !== text) message = createMessage('system', text, { id: systemMessage.id, now });
    rendered.set(systemMessage, message);
    run.setup = { ...run.setup, systemMessage: text.trim() ? message : undefined };
  };

  return {
    wrapCall: (next) =>
      async function* (run, input) {
        try {
          if (input) await render(run);
        } catch (error) {
          if (!run.cut) run.fail(AgentError.from(error, 'INVALID_INPUT'));
        }
        return yield* next(run, run.signal.aborted ? undefined : input);
      },
  };
}
