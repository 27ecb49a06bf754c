import type { AgentEvent, JsonValue, Tool, ToolContext, ToolSchema, ToolSet } from '@isoloop/core';
import { isPageGone, type PageLink } from './page-link.ts';
import type { ToolAnswer, ToolProgress, ToolQuestion } from '../page/page-tools.ts';
import type { ToolOffer } from '../wire/protocol.ts';

/** The pages that offer tools now, the earliest first. */
export type ToolPages = () => readonly {
  readonly link: PageLink;
  readonly offer: { readonly tools: readonly ToolOffer[] };
}[];

/** The reason of a call that is suspended because its page left. Stored logs have it. */
export const pageGoneReason = 'The page that runs the tool is gone.';

/**
 * The tools of the connected pages as a tool set of the agent. They come and go with their pages.
 * If several pages have a tool of the same name, the first page runs it. If all pages of a tool are
 * gone, the model is no longer offered it. The tool stays known, and a call of it suspends.
 */
export class RemoteTools implements ToolSet {
  readonly #pages: ToolPages;
  readonly #known: Map<string, Tool> = new Map();
  #schemas: readonly ToolSchema[] = [];

  constructor(pages: ToolPages) {
    this.#pages = pages;
  }

  /** Updates the tools. Call it when a page came or went. */
  update(): void {
    const offers = new Map<string, ToolOffer>();
    for (const { offer } of this.#pages())
      for (const tool of offer.tools)
        if (!offers.has(tool.schema.name)) offers.set(tool.schema.name, tool);
    for (const [name, offer] of offers) this.#known.set(name, this.#tool(offer));
    this.#schemas = [...offers.values()].map(({ schema }) => schema);
  }

  find(name: string): Tool | undefined {
    return this.#known.get(name);
  }

  /** Returns whether a connected page has the tool. */
  isOffered(name: string): boolean {
    return this.#schemas.some((schema) => schema.name === name);
  }

  schemas(): readonly ToolSchema[] {
    return this.#schemas;
  }

  /** Returns this set itself: the pages belong to the session, so there is nothing to copy. */
  fork(): ToolSet {
    return this;
  }

  #tool({ schema, needsApproval, ...offer }: ToolOffer): Tool {
    const { name } = schema;
    const ask = async <T>(
      question: ToolQuestion,
      without: T,
      options: Parameters<PageLink['ask']>[1] = {},
    ): Promise<T> => {
      const page = this.#pages().find(({ offer: { tools } }) =>
        tools.some((tool) => tool.schema.name === name),
      );
      if (!page) return without;
      try {
        return await page.link.ask<T>(question, options);
      } catch (error) {
        if (isPageGone(error)) return without;
        throw error;
      }
    };
    return {
      ...offer,
      name,
      schema,
      input: {
        jsonSchema: schema.parameters,
        async validate(value) {
          const { ok, issues } = await ask<{ ok: boolean; issues: readonly string[] }>(
            { type: 'check', name, input: value },
            { ok: true, issues: [] },
          );
          return ok ? { ok, value } : { ok: false, issues };
        },
      },
      // Without its page nothing can say whether the call may run, so it needs approval.
      ...(needsApproval && {
        needsApproval: (input, call) => ask<boolean>({ type: 'approval', name, input, call }, true),
      }),
      async execute(input, context) {
        const answer = await ask<ToolAnswer | undefined>(
          { type: 'run', name, input, context: sent(context) },
          undefined,
          {
            signal: context.signal,
            onProgress: (progress) => {
              const told = progress as ToolProgress;
              if ('emitted' in told) context.emit(told.emitted);
              else if ('interrupt' in told) context.interrupt(told.interrupt);
              else context.forward(told.forwarded as readonly AgentEvent[]);
            },
          },
        );
        if (!answer) return context.suspend(pageGoneReason);
        if ('suspended' in answer) return context.suspend(answer.suspended);
        return answer.output as JsonValue;
      },
    };
  }
}

function sent({
  sessionId,
  userId,
  runId,
  toolUseId,
  messages,
  idempotencyKey,
  agentPath,
  decision,
}: ToolContext) {
  return { sessionId, userId, runId, toolUseId, messages, idempotencyKey, agentPath, decision };
}
