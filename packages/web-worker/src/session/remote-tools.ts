import type { AgentEvent, JsonValue, Tool, ToolContext, ToolSchema, ToolSet } from '@isoloop/core';
import { isPageGone, type PageLink } from './page-link.ts';
import type { ToolAnswer, ToolProgress, ToolQuestion } from '../page/page-tools.ts';
import type { ToolOffer } from '../wire/protocol.ts';

/** Returns the connected pages that offer tools, in the order in which they connected. */
export type ToolPages = () => readonly {
  readonly link: PageLink;
  readonly offer: { readonly tools: readonly ToolOffer[] };
}[];

/**
 * Reason of a tool call that is suspended because its page disconnected. Stored logs contain this
 * text, so do not change it.
 */
export const pageGoneReason = 'The page that runs the tool is gone.';

/**
 * Tool set of the agent with the tools of the connected pages. If several pages have a tool of the
 * same name, the first page runs it. After all pages with a tool have disconnected, the model no
 * longer gets the tool. If the model calls such a tool anyway, the tool call suspends.
 */
export class RemoteTools implements ToolSet {
  readonly #pages: ToolPages;
  readonly #known: Map<string, Tool> = new Map();
  #schemas: readonly ToolSchema[] = [];

  constructor(pages: ToolPages) {
    this.#pages = pages;
  }

  /** Updates the tools. Call it after a page has connected or disconnected. */
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

  /** Returns this set itself, because all agents of the session use the same pages. */
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
      // If the page is not connected, the tool call needs approval, because only the page could say
      // otherwise.
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
