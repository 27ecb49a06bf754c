import type { Middleware } from '../loop/use/middleware.ts';
import { checkFields } from '../error/check-fields.ts';
import type { EventOf } from '../event/agent-event.ts';
import type { ControlOf } from '../event/hook.ts';
import { assistantMessage, userMessage } from '../message/create-message.ts';
import { isRecord } from '../message/is-record.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { decodeReply } from './decode-reply.ts';
import { parseToolCalls } from './parse-tool-calls.ts';
import type { ParseReply, Reflect } from './parsed-reply.ts';
import { requestTeller } from './request-teller.ts';
import { toolsPrompt, type ToolsPromptContext } from './tools-prompt.ts';

export interface TextToolCallsOptions {
  /**
   * Default `parseToolCalls`. With a parser of one's own, `parseOxygent` too, a reply is held back
   * whole, if tools are offered.
   */
  readonly parse?: ParseReply;
  /**
   * Looks at each answer; what it gives back is told to the model as a correction. Default
   * `refuseEmpty`.
   */
  readonly reflect?: Reflect;
  /** Whether a reply may make several calls, which run in parallel; default true. */
  readonly parallel?: boolean;
  /**
   * The words that tell the model of its tools, put behind the system prompt as they are. Default:
   * English ones.
   */
  readonly prompt?: (context: ToolsPromptContext) => string;
}

/** What marks an invalid reply in `metadata.correction`, and what it was told. */
export type CorrectionPart = 'reply' | 'message';

interface Invalid {
  readonly text: string;
  readonly message: string;
}

/**
 * For an agent's `use` list: a model without tool calling acts by JSON in its text. Tools are
 * described behind the system prompt, calls and results of the log told as text; calls in a reply
 * become ordinary tool calls, `<think>` parts thinking. Text that may still be a call is held back;
 * what was released and has to go is taken back by a `step-reset`. An invalid reply costs an
 * iteration: the log gets it and the correction as two messages with `metadata.correction`. A tool
 * choice is told, not enforced; with `none` no tools are offered. Goes behind `outputGuards`,
 * before `fallback` and `retry`. Throws `CONFIGURATION` for an option of the wrong kind. (OxyGent:
 * its ReAct agent's protocol.)
 */
export function textToolCalls(
  options: TextToolCallsOptions = {},
): Middleware & { wrapModel(model: ChatModel): ChatModel } {
  const where = 'textToolCalls()';
  checkFields(
    'CONFIGURATION',
    where,
    options,
    'parse:function|? reflect:function|? parallel:boolean|? prompt:function|?',
  );
  const {
    parse = parseToolCalls,
    reflect = refuseEmpty,
    parallel = true,
    prompt = toolsPrompt,
  } = options;
  const last = new WeakSet<Msg>();
  const protocol = { parse, reflect, parallel, last };
  return {
    name: 'textToolCalls',
    wrapModel(next) {
      const tell = requestTeller({ media: next.features.media, parallel, prompt });
      return {
        provider: next.provider,
        modelId: next.modelId,
        features: { ...next.features, tools: true },
        stream: (request, context) =>
          decodeReply(request, next.stream(tell(request), context), {
            ...protocol,
            signal: context.signal,
          }),
      };
    },
    on: {
      // After other hooks: of what several ask for the first counts.
      'post-reasoning': { handle: correct, priority: 10_000 },
      'pre-summary': {
        handle: ({ messages }) => void messages.slice(-1).map((asked) => last.add(asked)),
        priority: 10_000,
      },
    },
  };
}

/** Refuses an answer of nothing but white space. */
export function refuseEmpty(reply: string): string | undefined {
  return reply.trim() ? undefined : 'Your reply is empty. Answer, or call a tool.';
}

function correct(
  { message, at }: EventOf<'post-reasoning'>,
  control: ControlOf<'post-reasoning'>,
): void {
  const { invalidReply: invalid, ...metadata } = message.metadata ?? {};
  if (!isInvalid(invalid)) return;
  const about = (part: CorrectionPart) => ({
    id: `${message.id}:${part}`,
    now: () => at,
    metadata: { ...(part === 'reply' && metadata), correction: part },
  });
  const reply = invalid.text.trim() ? [assistantMessage(invalid.text, about('reply'))] : [];
  control.gotoReasoning([...reply, userMessage(invalid.message, about('message'))]);
}

function isInvalid(value: unknown): value is Invalid {
  return (
    isRecord(value) && typeof value['text'] === 'string' && typeof value['message'] === 'string'
  );
}
