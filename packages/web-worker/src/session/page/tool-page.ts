import type { Asker, ToolOffer } from '../../wire/protocol.ts';
import type { PageLink } from './page-link.ts';

/** Tools that one connected page offers. */
interface ToolPage {
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
  readonly pages: readonly ToolPage[];
  /** Page that asked for the run. `undefined`: the log does not have it. */
  readonly asker: Asker | undefined;
  /** Tab of each connected page, by the page's id. `undefined`: this worker. */
  readonly tabIds: ReadonlyMap<string, string | undefined>;
}

/**
 * Returns the pages that may run a tool, best first. These are the page that asked, then the other
 * connections of its tab. For a tool that any visible page may run, they are the visible pages, and
 * then the page that asked. If the page that asked has disconnected, no other page runs its tools.
 */
export function pagesFor(name: string, { pages, asker, tabIds }: ToolPages): readonly ToolPage[] {
  const pagesWithTool = pages.filter(({ offer }) =>
    offer.tools.some((tool) => tool.schema.name === name),
  );
  if (!asker) return pagesWithTool;
  const askerPages = pagesWithTool.filter(({ pageId }) => pageId === asker.pageId);
  const isConnected = tabIds.has(asker.pageId);
  const sameTabPages = isConnected
    ? pagesWithTool.filter(({ tabId }) => tabId === tabIds.get(asker.pageId))
    : [];
  const visiblePages = [...askerPages, ...sameTabPages, ...pagesWithTool].filter(
    ({ link, offer }) =>
      link.visible && offer.tools.some((tool) => tool.anyVisibleTab && tool.schema.name === name),
  );
  return [...visiblePages, ...askerPages, ...sameTabPages];
}
