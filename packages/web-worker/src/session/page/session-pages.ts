import type { ChatModel, ReActAgent, ToolSet } from '@isoloop/core';
import type { DecideForMessageOptions } from '@isoloop/core/adapter';
import type { ApprovalsOptions, ApprovalDecision } from '@isoloop/core/middleware';
import type { ApprovalQuestion } from '../../page/page-approvals.ts';
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

/** Connected page. */
interface Page {
  /** Id of the page's connection. */
  readonly page: string;
  /** Id of the page's tab. `undefined`: a page of this worker. */
  readonly tab: string | undefined;
}

interface Part extends Page {
  readonly id: string;
  readonly offer: PageOffer;
  readonly link: PageLink;
  /** Functions that remove the part's hooks from the agent. */
  off: readonly (() => void)[];
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
  readonly #pages: Map<string, string | undefined> = new Map();
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
      offers: this.#of('tools'),
      asker: askerOf(runId),
      tabs: this.#pages,
    }));
    const [tools, ofKind] = [this.#tools, () => this.#of('model')];
    this.side = {
      tools,
      decide: (call, context) => this.#decide(call, context),
      get model() {
        return remoteModel(ofKind);
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
  get offered(): readonly TabPage[] {
    const own = [...this.#pages].flatMap(([page, tab]) => (tab === undefined ? page : []));
    return own.map((page) => {
      const parts = [...this.#parts].filter((part) => part.page === page);
      const tools = parts.flatMap(({ id, offer, link }) =>
        offer.kind === 'tools' ? { part: id, tools: offer.tools, visible: link.visible } : [],
      );
      return { page, tools };
    });
  }

  /** Returns whether the page is connected. */
  has(page: string): boolean {
    return this.#pages.has(page);
  }

  /** Returns the link to a part of a page of this worker. */
  linkOf(partId: string): PageLink | undefined {
    return [...this.#parts].find(({ id }) => id === partId)?.link;
  }

  /**
   * Notes which page asked for a run. Returns a function to call at the end of the run. Runs that
   * this worker continues for an unknown page have no asker.
   */
  begin(runId: string, asker: Asker | undefined): () => void {
    this.#askers.set(runId, asker);
    return () => void this.#askers.delete(runId);
  }

  /** Adds a page with its parts. Returns a function that removes them. */
  enter(
    offers: readonly PageOffer[],
    ports: readonly MessagePort[],
    { page, tab }: { readonly page: string; readonly tab?: string },
  ): () => void {
    const onChange = (): void => this.#changed(tab);
    this.#pages.set(page, tab);
    const parts = offers.map((offer, index): Part => {
      const part: Part = {
        id: `${page}/${index}`,
        page,
        tab,
        offer,
        link: new PageLink(ports[index]!, () => this.#leave(part), onChange),
        off: [],
      };
      this.#parts.add(part);
      this.#hook(part);
      return part;
    });
    this.#changed(tab);
    return () => {
      this.#pages.delete(page);
      for (const { link } of parts) link.close();
      this.#changed(tab);
    };
  }

  /**
   * Returns a check of whether the page of a tool call has disconnected. Use the check only while
   * no run is active.
   */
  goneToolCheck(tools: ToolSet): Required<DecideForMessageOptions>['isToolGone'] {
    return ({ name }, { pending, started = false }) => {
      if (pending?.reason === pageGoneReason) return true;
      // An unknown tool belongs to a page that was never connected to this worker.
      if (!tools.find(name)) return true;
      if (!this.#tools.find(name)) return false;
      if (!pending) return started;
      return pending.kind === 'replay' || !this.#tools.isOffered(name);
    };
  }

  #leave(part: Part): void {
    this.#parts.delete(part);
    for (const off of part.off) off();
    this.#changed(part.tab);
  }

  #changed(tab: string | undefined): void {
    this.#tools.update();
    if (tab === undefined) this.onChange?.();
  }

  #hook(part: Part): void {
    const { offer, link } = part;
    if (!this.#agent || offer.kind !== 'hooks') return;
    const agent = this.#agent;
    part.off = remoteHooks(offer, link).map((hook) => agent.addHook(hook));
  }

  #of<K extends PageOffer['kind']>(
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
    const question: ApprovalQuestion = { call, context: { sessionId, messages } };
    for (const { link } of this.#of('approvals')) {
      try {
        return await link.ask(question, { signal });
      } catch (error) {
        if (!isPageGone(error)) throw error;
      }
    }
    return undefined;
  }
}
