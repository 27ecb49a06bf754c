import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { Awaitable } from '../event/hook.ts';
import { createMessage } from '../message/create-message.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { renderTemplate, type TemplateOptions, type TemplateVariables } from './render-template.ts';
import { abortable } from '../model/abortable.ts';
import type { RunInfo } from '../model/chat-model.ts';
import type { ContextToken } from '../tool/context-token.ts';
import type { Extension } from '../loop/extension.ts';
import { perRun } from '../loop/per-run.ts';
import type { Run } from '../loop/run.ts';

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
   * Has what a call, or the agent, provides for it in `context`; wins over `variables`. Optional
   * for a call.
   */
  readonly token?: ContextToken<TemplateVariables>;
}

/**
 * Renders the agent's system prompt, once a call, before anything is made of it: `${name}` becomes
 * its value (OxyGent: `_build_instruction`), or `{name}` with `form: '{}'` (Spring AI Alibaba).
 * What was put in, or behind it by other extensions, is not rendered; the input of a call never is.
 * Give an agent one of it: a second would look into what the first put in. A call for which
 * rendering fails ends with that error, and nothing of it is stored. Throws `CONFIGURATION` for an
 * option of the wrong kind.
 */
export function promptVariables(options: PromptVariablesOptions): Extension {
  const where = 'promptVariables()';
  checkFields(
    'CONFIGURATION',
    where,
    options,
    'variables:object|function|? token:object|? form:${}|{}|? missing:keep|fail|?',
  );
  const rendered = new WeakMap<Msg, Msg>();
  const runs = perRun((run) => run);

  const render = async (run: Run, input: readonly Msg[]): Promise<void> => {
    const { systemMessage, now, options: agent } = run.setup;
    if (!systemMessage || run.cut) return;
    const { variables = {}, token } = options;
    const own = token && run.context.get(token);
    const given =
      typeof variables === 'function'
        ? await abortable(
            Promise.resolve(
              variables({
                ...run.about,
                input: input.some(isUser) ? input : run.view.filter(isUser).slice(-1),
              }),
            ),
            run.modelSignal(),
          )
        : variables;
    checkFields('INVALID_INPUT', where, { given, own }, 'given:object own:object|?');
    const whole = textOf(systemMessage);
    const { systemPrompt = '' } = agent;
    // What other extensions have put behind it, such as the tools of a text protocol, is no
    // template.
    const base = whole.startsWith(systemPrompt) ? systemPrompt : whole;
    const prompt = renderTemplate(base, { ...given, ...(own as TemplateVariables) }, options);
    const text = prompt.trim()
      ? prompt + whole.slice(base.length)
      : whole.slice(base.length).trim();
    // The same object while the text is the same: counts and the wire form are cached on it.
    let message = rendered.get(systemMessage);
    if (!message || textOf(message) !== text)
      message = createMessage('system', text, { id: systemMessage.id, now });
    rendered.set(systemMessage, message);
    run.setup = { ...run.setup, systemMessage: text ? message : undefined };
  };

  return {
    wrapCall: runs.wrapCall,
    hooks: [
      {
        name: 'promptVariables',
        // After all that may change the input, or keep it in the session's state.
        priority: Number.MAX_SAFE_INTEGER,
        on: {
          async 'pre-call'({ runId, input }) {
            const run = runs.get(runId)!;
            try {
              await render(run, input);
            } catch (error) {
              if (!run.cut) throw AgentError.from(error, 'INVALID_INPUT');
            }
          },
        },
      },
    ],
  };
}

function isUser({ role }: Msg): boolean {
  return role === 'user';
}
