import {
  AgentError,
  assistantMessage,
  ReActAgent,
  textOf,
  tool,
  userMessage,
  type Middleware,
} from '@isoloop/core';
import { keepDataParts } from '@isoloop/core/results';
import { joinTools } from '@isoloop/core/tool';
import { approvals } from '@isoloop/core/approval';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { IndexedDbMemory, IndexedDbStore } from '@isoloop/web-worker/store';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';
import * as z from 'zod';

/** Options that tests pass to this worker when they connect. */
export interface PageFixtureOptions {
  readonly replies?: readonly (string | ScriptedStep)[];
  /** Names of tools whose calls need the page's approval. */
  readonly needsApproval?: readonly string[];
  /**
   * The running agent accepts new messages. A guard rejects the message `bad` and shortens messages
   * that begin with `long`.
   */
  readonly guarded?: boolean;
  readonly database?: string;
  /** Holds back the replies until the page posts `{ open: true }`. */
  readonly gated?: boolean;
  /** A guard holds back each message until the page posts `{ open: true }`. */
  readonly heldInput?: boolean;
  /** A middleware ends each run in place of the model: it answers `Stored.` or throws. */
  readonly withoutModel?: 'answers' | 'fails';
}

const opened = new Promise<void>((resolve) => {
  addEventListener('message', ({ data }: MessageEvent<{ readonly open?: true } | null>) => {
    if (data?.open) resolve();
  });
});

const here = tool({
  name: 'here',
  description: 'Says where',
  input: z.looseObject({ room: z.string().optional() }),
  execute: () => 'in the worker',
});

/** A tool that runs until the run is aborted. */
const slow = tool({
  name: 'slow',
  description: 'Takes long',
  input: { type: 'object' },
  execute: (_input, { signal }) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    }),
});

/** A tool without `execute`: the chat sends its result. */
const color = tool({ name: 'color', description: 'Asks for a color', input: { type: 'object' } });

const guard: Middleware = {
  wrapInput: async (input, next) => {
    const text = input.messages.map(textOf).join();
    if (text === 'bad') throw new AgentError('GUARD_REJECTED', 'Not here.', { details: { text } });
    const messages = text.startsWith('long') ? [userMessage('short')] : input.messages;
    return next({ ...input, messages });
  },
};

const holdInput: Middleware = {
  wrapInput: async (input, next) => {
    await opened;
    return next(input);
  },
};

const inPlaceOfModel = (way: 'answers' | 'fails' | undefined): Middleware => ({
  wrapRequest: async (draft, next) => {
    if (way === undefined) return next(draft);
    if (way === 'fails') throw new AgentError('MODEL_REQUEST', 'No request is allowed.');
    return { kind: 'answer', reason: 'stop', message: assistantMessage('Stored.') };
  },
});

exposeAgent({
  main: ({ sessionId, options, page }: WorkerAgentSetup<PageFixtureOptions | null>) => {
    const { replies = ['ok'], needsApproval = [], database, gated } = options ?? {};
    const { guarded, heldInput, withoutModel } = options ?? {};
    const held = (reply: string | ScriptedStep): ScriptedStep => ({
      ...(typeof reply === 'string' ? { text: reply } : reply),
      wait: () => opened,
    });
    return new ReActAgent({
      name: 'main',
      sessionId,
      model: new ScriptedModel(gated ? replies.map(held) : replies),
      tools: joinTools([here, color, slow], page.tools),
      ...(database && {
        memory: new IndexedDbMemory(sessionId, { store: new IndexedDbStore({ database }) }),
      }),
      ...(guarded && { whenBusy: 'inject' }),
      use: [
        keepDataParts(),
        ...(guarded ? [guard] : []),
        ...(heldInput ? [holdInput] : []),
        inPlaceOfModel(withoutModel),
        approvals({
          needsApproval: Object.fromEntries(needsApproval.map((name) => [name, true])),
          decide: page.decide,
        }),
      ],
    });
  },
  browser: ({ sessionId, page }) =>
    new ReActAgent({
      name: 'browser',
      sessionId,
      model: page.model,
      tools: joinTools([here], page.tools),
      use: [textToolCalls()],
    }),
});

// The message `{ spin: true }` blocks the worker's thread with an endless loop.
addEventListener('message', ({ data }: MessageEvent<{ readonly spin?: true } | null>) => {
  while (data?.spin);
});
