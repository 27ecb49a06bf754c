import { root } from '../root.ts';

/** Folder of the site's own code. */
export const siteFolder: string = `${root}/docs/site`;

/**
 * What the build writes. Git ignores it, and it is outside `docs`, because tests read all pages
 * there.
 */
export const outputFolder: string = `${root}/dist/docs`;

/** The pages as the generator reads them. */
export const contentFolder: string = `${outputFolder}/content`;

/** Files that the site serves unchanged. */
export const publicFolder: string = `${outputFolder}/public`;

/** The built site. */
export const htmlFolder: string = `${outputFolder}/html`;

/** Path under which the site is served, without a trailing slash. */
export const basePath = '/docs';
