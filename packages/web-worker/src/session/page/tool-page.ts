import type { Asker, ToolOffer } from '../../wire/protocol.ts';
import type { PageLink } from './page-link.ts';

/** Tools that one connected page offers. */
export interface ToolPage {
  /** Id of the page's connection. */
  readonly pageId: string;
  /** Id of the page's tab. `undefined`: a page of this worker. */
  readonly tabId: string | undefined;
  readonly link: PageLink;
  readonly offer: { readonly tools: readonly ToolOffer[] };
}

/** Connected pages, among which the page for a tool call is chosen. */
export interface ToolPages {
  /** Pages that offer tools, in the order in which they connected. */
  readonly offers: readonly ToolPage[];
  /** Page that asked for the run. `undefined`: the log does not have it. */
  readonly asker: Asker | undefined;
  /** Tab of each connected page, by the page's id. `undefined`: this worker. */
  readonly tabs: ReadonlyMap<string, string | undefined>;
}

/**
 * Returns the pages that may run a tool, best first. These are the page that asked, then the other
 * connections of its tab. For a tool that any visible page may run, they are the visible pages, and
 * then the page that asked. If the page that asked has disconnected, no other page runs its tools.
 */
export function pagesFor(name: string, { offers, asker, tabs }: ToolPages): readonly ToolPage[] {
  const all = offers.filter(({ offer }) => offer.tools.some((tool) => tool.schema.name === name));
  if (!asker) return all;
  const own = all.filter(({ pageId }) => pageId === asker.pageId);
  const isHere = tabs.has(asker.pageId);
  const near = isHere ? all.filter(({ tabId }) => tabId === tabs.get(asker.pageId)) : [];
  const visible = [...own, ...near, ...all].filter(
    ({ link, offer }) =>
      link.visible && offer.tools.some((tool) => tool.anyVisibleTab && tool.schema.name === name),
  );
  return [...visible, ...own, ...near];
}
