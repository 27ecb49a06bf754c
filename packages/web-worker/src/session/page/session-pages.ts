import type { ChatModel, ReActAgent, ToolSet } from '@isoloop/core';
import type { BeginTurnOptions } from '@isoloop/core/host';
import type { ApprovalsOptions, ApprovalDecision } from '@isoloop/core/approval';
import type { ApprovalPageCall } from '../../page/parts/page-approvals.ts';
import { isPageGone, PageLink } from './page-link.ts';
import type { Asker, PageOffer } from '../../wire/protocol.ts';
import type { TabPage } from '../../wire/tab-protocol.ts';
import { remoteHooks } from './remote-hook.ts';
import { remoteModel } from './remote-model.ts';
import { pageGoneReason, RemoteTools } from './remote-tools.ts';

/** Tools, approvals and model of the connected pages, for the agent of a session. */
export interface PageSide {
  /**
   * Tools of `pageTools()`. Pass them to the agent with `tools: page.tools`, or with
   * `joinTools(mine, page.tools)`.
   */
  readonly tools: ToolSet;
  /**
   * Function that asks `pageApprovals()` on the page. Use it in `approvals({ decide:
   * page.decide })`. If no page decides, the tool call suspends.
   */
  readonly decide: Required<ApprovalsOptions>['decide'];
  /** Model of `pageModel()`. Throws `CONFIGURATION` if no page offers a model. */
  readonly model: ChatModel;
}

interface Page {
  /** Id of the page's connection. */
  readonly pageId: string;
  /** Id of the page's tab. `undefined`: a page of this worker. */
  readonly tabId: string | undefined;
}

interface Part extends Page {
  readonly id: string;
  readonly offer: PageOffer;
  readonly link: PageLink;
  /** Functions that remove the part's hooks from the agent. */
  removeHooks: readonly (() => void)[];
}

/**
 * Pages that are connected to one session, and their parts. In the leader's worker, this includes
 * the tools of other tabs' pages.
 */
export class SessionPages {
  /** Web Lock that this worker holds until it ends, if the browser has locks. */
  readonly lock: string | undefined;
  readonly side: PageSide;
  /** Called after the pages of this worker, or their visibility, have changed. */
  onChange: (() => void) | undefined;
  /** Tabs of the connected pages, by page. */
  readonly #tabIds: Map<string, string | undefined> = new Map();
  readonly #parts: Set<Part> = new Set();
  /** Pages that asked for the active runs, by run. The first run is the one that is not queued. */
  readonly #askers: Map<string, Asker | undefined> = new Map();
  readonly #tools: RemoteTools;
  #agent: ReActAgent | undefined;

  constructor(lock?: string) {
    this.lock = lock;
    const askerOf = (runId = ''): Asker | undefined =>
      this.#askers.has(runId) ? this.#askers.get(runId) : this.#askers.values().next().value;
    this.#tools = new RemoteTools((runId) => ({
      pages: this.#partsOf('tools'),
      asker: askerOf(runId),
      tabIds: this.#tabIds,
    }));
    const [tools, modelPages] = [this.#tools, () => this.#partsOf('model')];
    this.side = {
      tools,
      decide: (call, context) => this.#decide(call, context),
      get model() {
        return remoteModel(modelPages);
      },
    };
  }

  /**
   * Sets the agent and adds the hooks of the connected pages to it. Pages that connect later add
   * their hooks to the same agent.
   */
  attach(agent: ReActAgent): void {
    this.#agent = agent;
    for (const part of this.#parts) this.#hook(part);
  }

  /** Tools of the pages of this worker. */
  get tabPages(): readonly TabPage[] {
    const ownPageIds = [...this.#tabIds].flatMap(([pageId, tabId]) =>
      tabId === undefined ? pageId : [],
    );
    return ownPageIds.map((pageId) => {
      const parts = [...this.#parts].filter((part) => part.pageId === pageId);
      const tools = parts.flatMap(({ id, offer, link }) =>
        offer.kind === 'tools' ? { partId: id, tools: offer.tools, visible: link.visible } : [],
      );
      return { pageId, tools };
    });
  }

  has(pageId: string): boolean {
    return this.#tabIds.has(pageId);
  }

  /** Returns the link to a part of a page of this worker. */
  linkOf(partId: string): PageLink | undefined {
    return [...this.#parts].find(({ id }) => id === partId)?.link;
  }

  /**
   * Notes which page asked for a run. Returns a function to call at the end of the run. Runs that
   * this worker continues for an unknown page have no asker.
   */
  setAsker(runId: string, asker: Asker | undefined): () => void {
    this.#askers.set(runId, asker);
    return () => void this.#askers.delete(runId);
  }

  /** Adds a page with its parts. Returns a function that removes them. */
  add(
    offers: readonly PageOffer[],
    ports: readonly MessagePort[],
    { pageId, tabId }: { readonly pageId: string; readonly tabId?: string },
  ): () => void {
    const onChange = (): void => this.#reportChange(tabId);
    this.#tabIds.set(pageId, tabId);
    const parts = offers.map((offer, index): Part => {
      const part: Part = {
        id: `${pageId}/${index}`,
        pageId,
        tabId,
        offer,
        link: new PageLink(ports[index]!, () => this.#removePart(part), onChange),
        removeHooks: [],
      };
      this.#parts.add(part);
      this.#hook(part);
      return part;
    });
    this.#reportChange(tabId);
    return () => {
      this.#tabIds.delete(pageId);
      for (const { link } of parts) link.close();
      this.#reportChange(tabId);
    };
  }

  /**
   * Returns a check of whether the page of a tool call has disconnected. Use the check only while
   * no run is active.
   */
  goneToolCheck(tools: ToolSet): Required<BeginTurnOptions>['isToolGone'] {
    return ({ name }, { pending, started = false }) => {
      if (pending?.reason === pageGoneReason) return true;
      // An unknown tool belongs to a page that was never connected to this worker.
      if (!tools.find(name)) return true;
      if (!this.#tools.find(name)) return false;
      if (!pending) return started;
      return pending.kind === 'replay' || !this.#tools.isOffered(name);
    };
  }

  #removePart(part: Part): void {
    this.#parts.delete(part);
    for (const remove of part.removeHooks) remove();
    this.#reportChange(part.tabId);
  }

  #reportChange(tabId: string | undefined): void {
    this.#tools.update();
    if (tabId === undefined) this.onChange?.();
  }

  #hook(part: Part): void {
    const { offer, link } = part;
    if (!this.#agent || offer.kind !== 'hooks') return;
    const agent = this.#agent;
    part.removeHooks = remoteHooks(offer, link).map((hook) => agent.addHook(hook));
  }

  #partsOf<K extends PageOffer['kind']>(
    kind: K,
  ): readonly (Page & {
    readonly link: PageLink;
    readonly offer: Extract<PageOffer, { kind: K }>;
  })[] {
    return [...this.#parts].filter(({ offer }) => offer.kind === kind) as never;
  }

  /** Asks the connected pages in order. The first page that answers decides. */
  async #decide(
    ...[call, { sessionId, messages, signal }]: Parameters<PageSide['decide']>
  ): Promise<ApprovalDecision | undefined> {
    const pageCall: ApprovalPageCall = { call, context: { sessionId, messages } };
    for (const { link } of this.#partsOf('approvals')) {
      try {
        return await link.call(pageCall, { signal });
      } catch (error) {
        if (!isPageGone(error)) throw error;
      }
    }
    return undefined;
  }
}
