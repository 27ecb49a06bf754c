import { acceptOutput, isToolContent } from '@isoloop/core/host';
import type { AgentEvent, JsonValue, Tool, ToolContext, ToolSchema, ToolSet } from '@isoloop/core';
import { isPageGone, type PageCallOptions } from './page-link.ts';
import { pagesFor, type ToolPages } from './tool-page.ts';
import type {
  ToolPageResult,
  PageToolProgress,
  ToolPageCall,
} from '../../page/parts/page-tools.ts';
import type { ToolOffer } from '../../wire/protocol.ts';

/**
 * Reason of a tool call that is suspended because its page disconnected. Stored logs contain this
 * text, so do not change it.
 */
export const pageGoneReason = 'The page that runs the tool is gone.';

/**
 * Tool set of the agent with the tools of the connected pages. A tool runs on the page that asked
 * for the run. The model gets the tools that this page can run. If the model calls another page
 * tool anyway, or if the page has disconnected, the tool call suspends.
 */
export class RemoteTools implements ToolSet {
  readonly #pagesOf: (runId?: string) => ToolPages;
  /** Last tools by name. They stay after all their pages have disconnected. */
  readonly #knownTools: Map<string, Tool> = new Map();
  /** Tools by offer, because pages may offer different tools of one name. */
  #tools: WeakMap<ToolOffer, Tool> = new WeakMap();
  /** Schemas for the pages that asked for runs, by page. */
  readonly #schemas: Map<string | undefined, readonly ToolSchema[]> = new Map();

  /** `pagesOf` returns the connected pages, for a run or for the active run. */
  constructor(pagesOf: (runId?: string) => ToolPages) {
    this.#pagesOf = pagesOf;
  }

  /** Updates the tools. Call it after a page has connected, disconnected or become visible. */
  update(): void {
    this.#schemas.clear();
    this.#tools = new WeakMap();
    for (const [name, offers] of this.#offers()) {
      // A page whose tool needs no approval answers so when it is asked.
      const needsApproval = offers.some((offer) => offer.needsApproval);
      for (const offer of offers) this.#tools.set(offer, this.#tool({ ...offer, needsApproval }));
      this.#knownTools.set(name, this.#tools.get(offers[0]!)!);
    }
  }

  find(name: string): Tool | undefined {
    const offer = this.#offerFor(name, this.#pagesOf());
    return (offer && this.#tools.get(offer)) ?? this.#knownTools.get(name);
  }

  /** Returns whether a connected page has the tool. */
  isOffered(name: string): boolean {
    return this.#offers().has(name);
  }

  schemas(): readonly ToolSchema[] {
    const pages = this.#pagesOf();
    const key = pages.asker?.pageId;
    const schemas = this.#schemas.get(key) ?? this.#schemasFor(pages);
    this.#schemas.set(key, schemas);
    return schemas;
  }

  /** Returns this set itself, because all agents of the session use the same pages. */
  fork(): ToolSet {
    return this;
  }

  #schemasFor(pages: ToolPages): readonly ToolSchema[] {
    return [...this.#offers().keys()].flatMap((name) => this.#offerFor(name, pages)?.schema ?? []);
  }

  #offerFor(name: string, pages: ToolPages): ToolOffer | undefined {
    return pagesFor(name, pages)[0]?.offer.tools.find(({ schema }) => schema.name === name);
  }

  /** Returns the offers of all pages by the name of the tool. */
  #offers(): ReadonlyMap<string, readonly ToolOffer[]> {
    const byName = new Map<string, ToolOffer[]>();
    for (const { offer } of this.#pagesOf().pages) {
      for (const tool of offer.tools) {
        const { name } = tool.schema;
        byName.set(name, [...(byName.get(name) ?? []), tool]);
      }
    }
    return byName;
  }

  #tool({ schema, needsApproval, ...toolOffer }: ToolOffer): Tool {
    const { name } = schema;
    const callPage = async <T>(
      pageCall: ToolPageCall,
      fallback: T,
      options: PageCallOptions = {},
      runId?: string,
    ): Promise<T> => {
      const [page] = pagesFor(name, this.#pagesOf(runId));
      if (!page) return fallback;
      try {
        return await page.link.call<T>(pageCall, options);
      } catch (error) {
        if (isPageGone(error)) return fallback;
        throw error;
      }
    };
    return {
      // After a crash nobody knows what the page has done, so a person decides.
      replay: 'ask',
      ...toolOffer,
      name,
      schema,
      input: {
        jsonSchema: schema.parameters,
        async validate(value) {
          const { ok, issues } = await callPage<{ ok: boolean; issues: readonly string[] }>(
            { type: 'check', name, input: value },
            { ok: true, issues: [] },
          );
          return ok ? { ok, value } : { ok: false, issues };
        },
      },
      // If the page is not connected, the tool call needs approval, because only the page could say
      // otherwise.
      ...(needsApproval && {
        needsApproval: (input, call) =>
          callPage<boolean>({ type: 'approval', name, input, call }, true),
      }),
      execute: async (input, context) => {
        const { signal, runId } = context;
        const onProgress = (value: unknown): void => {
          const progress = value as PageToolProgress;
          if ('emitted' in progress) context.emit(progress.emitted);
          else if ('interrupt' in progress) context.interrupt(progress.interrupt);
          else context.forward(progress.forwarded as readonly AgentEvent[]);
        };
        const result = await callPage<ToolPageResult | undefined>(
          { type: 'run', name, input, context: sentContext(context) },
          undefined,
          { signal, onProgress },
          runId,
        );
        if (!result) return context.suspend(pageGoneReason);
        if ('suspended' in result) return context.suspend(result.reason);
        const { output } = result;
        if (!isToolContent(output)) return output as JsonValue;
        return { content: acceptOutput(output.content, { sender: 'page' }) };
      },
    };
  }
}

function sentContext({
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
