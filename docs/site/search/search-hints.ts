/** What our search knows of the pages beside Pagefind's index. The build writes it. */
export interface SearchHints {
  /**
   * Headings of each page by Pagefind's id, first the title. Pages whose headings do not count have
   * none.
   */
  readonly pages: Readonly<Record<string, readonly string[]>>;
  /**
   * Ids of the pages that have an abbreviation such as `cors` as a whole word, by its small
   * letters.
   */
  readonly abbreviations: Readonly<Record<string, readonly string[]>>;
}

export const noHints: SearchHints = { pages: {}, abbreviations: {} };
